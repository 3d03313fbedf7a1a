#!/usr/bin/env bash
# ./build.sh install: the module into PHP's extension folder, enabled for every SAPI.
# shellcheck source=scripts/lib/common.sh
. "${BASH_SOURCE[0]%/*}/lib/common.sh"

[ $# -eq 0 ] || die "install takes no argument"
provide "${build_packages[@]}"
build_module "$module" php

folder=$("$PHP_CONFIG" --extension-dir)
place "$module" "$folder/rate_limit.so" as_root
say "installed $folder/rate_limit.so"

ini=$(ini_file)
if [ -e "$ini" ]; then
    say "kept $ini as it is"
else
    place php/rate_limit.ini "$ini" as_root
    say "installed $ini"
fi
[ ! -d "$debian_available" ] || as_root phpenmod -v 8.4 rate_limit
"$PHP" -r 'exit(extension_loaded("rate_limit") ? 0 : 1);' || die "PHP does not load it: see php --ini"
say "enabled; running servers take it at their next restart or reload, for example:" \
    "systemctl reload php8.4-fpm"
