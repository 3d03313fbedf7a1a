#!/usr/bin/env bash
# ./build.sh soak: mixed traffic through php-fpm on a Redis server that is stopped, paused, cut off and flushed at
# random, judged by the server's own command log.
# shellcheck source=scripts/lib/common.sh
. "${BASH_SOURCE[0]%/*}/lib/common.sh"
# shellcheck source=scripts/lib/phpunit.sh
. scripts/lib/phpunit.sh

seconds=600
case "$*" in
'') ;;
'--seconds '[1-9]*) seconds=$2 ;;
*) die "soak: unknown arguments '$*' (known: --seconds N)" ;;
esac

provide "${build_packages[@]}" php8.4-fpm php8.4-mbstring php8.4-redis php8.4-xml phpunit redis-server
build_module "$module" php
export RATE_LIMIT_SOAK_SECONDS=$seconds
show "$seconds seconds of traffic" phpunit_with "$module" --filter SoakTest tests/phpunit
say "no verdict was wrong, no worker died, leaked or hung"
