#!/usr/bin/env bash
# ./build.sh: the loadable module.
# shellcheck source=scripts/lib/common.sh
. "${BASH_SOURCE[0]%/*}/lib/common.sh"

[ $# -eq 0 ] || die "build takes no argument"
provide "${build_packages[@]}"
build_module "$module" php
say "built $module"
