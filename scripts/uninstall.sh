#!/usr/bin/env bash
# ./build.sh uninstall: undoes ./build.sh install. Running workers keep the module they have mapped.
# shellcheck source=scripts/lib/common.sh
. "${BASH_SOURCE[0]%/*}/lib/common.sh"

[ $# -eq 0 ] || die "uninstall takes no argument"
if ! present php8.4-cli || ! present php8.4-dev; then die "no PHP 8.4 with php-config here"; fi
[ ! -e "$debian_available/rate_limit.ini" ] || as_root phpdismod -v 8.4 rate_limit
for file in "$(ini_file)" "$("$PHP_CONFIG" --extension-dir)/rate_limit.so"; do
    [ -e "$file" ] || continue
    as_root rm "$file"
    say "removed $file"
done
