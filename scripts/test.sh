#!/usr/bin/env bash
# ./build.sh test: everything that is checked in a few minutes; --all adds what needs heavy peers.
# shellcheck source=scripts/lib/common.sh
. "${BASH_SOURCE[0]%/*}/lib/common.sh"
# shellcheck source=scripts/lib/phpunit.sh
. scripts/lib/phpunit.sh

all=''
case "$*" in
'') ;;
--all) all=1 ;;
*) die "test: unknown arguments '$*' (known: --all)" ;;
esac

cargo_test() { cargo test --locked --no-fail-fast --features cli,frozen-clock "$@"; }

clippy() { cargo clippy --locked "$@" -- -D warnings; }

# run-tests.php comes with PHP's headers.
run_tests() {
    local folder
    for folder in "$("$PHP_CONFIG" --extension-dir)" "$("$PHP_CONFIG" --prefix)/lib/php"; do
        if [ -e "$folder/build/run-tests.php" ]; then
            echo "$folder/build/run-tests.php"
            return
        fi
    done
    die "run-tests.php was not found beside $("$PHP_CONFIG" --extension-dir)"
}

# A run that finds no test ends well in the eyes of run-tests.php, and not in ours.
phpt() {
    TEST_PHP_EXECUTABLE=$PHP NO_INTERACTION=1 "$PHP" -n "$(run_tests)" -n -q --no-color \
        --no-progress --show-diff -d "extension=$1" tests/phpt | tee "$work/phpt" &&
        grep '^Tests passed *: *[1-9]' "$work/phpt" >/dev/null
}

packages=("${build_packages[@]}" faketime nginx openssl php-predis php8.4-fpm php8.4-mbstring
    php8.4-redis php8.4-xml phpunit redis-server rust-clippy rustfmt valkey-server)
[ -z "$all" ] ||
    packages+=(apache2 curl libapache2-mod-php8.4 libphp8.4-embed nodejs npm prometheus shellcheck
        valgrind)
provide "${packages[@]}"

# libfaketime leaves two files behind for each process that is killed, and stops a later one that is
# given the same number.
tidy_faketime() {
    local file
    for file in /dev/shm/faketime_shm_* /dev/shm/sem.faketime_sem_*; do
        [ ! -O "$file" ] || [ -e "/proc/${file##*_}" ] || rm -f "$file"
    done
}

tidy_faketime
step "cargo fmt --check" cargo fmt --check
step "cargo clippy" clippy --all-targets --features cli,frozen-clock
step "cargo clippy, core and limiter alone" clippy --no-default-features
step "cargo clippy, the module" clippy --features php,frozen-clock
[ -z "$all" ] || step "shellcheck" shellcheck -x build.sh .ci/run scripts/*.sh
show "cargo test" cargo_test
# Optimised as for users, since some faults show only there, but with a clock that tests can stop.
test_module=$root/modules/rate_limit-test.so
build_module "$test_module" php,frozen-clock
show "phpt" phpt "$test_module"
tidy_faketime
if [ -n "$all" ]; then
    show "cargo test: long runs, clusters and sentinels" \
        cargo_test --test redis --test redis_topologies -- --ignored --test-threads 1
    RATE_LIMIT_TEST_SERVER=valkey-server show "cargo test: Redis' tests on Valkey" \
        cargo_test --test 'redis*' --test outage
    bash scripts/php-peers.sh
    show "phpunit" phpunit_with "$test_module"
    RATE_LIMIT_TEST_SERVER=valkey-server show "phpunit: Redis' tests on Valkey" \
        phpunit_with "$test_module" --filter 'Tests.(Extension|Outages)' --exclude-group heavy
    step "npm ci (edge)" npm --prefix edge ci --no-audit --no-fund
    show "the edge: types" npm --prefix edge run check
    RATE_LIMIT_MODULE=$test_module show "the edge: tests in workerd" npm --prefix edge test
    show "the demo" bash scripts/demo.sh
    show "the demo on Redis" bash scripts/demo.sh --redis
else
    show "phpunit" phpunit_with "$test_module" --exclude-group frameworks --exclude-group heavy \
        --exclude-group servers
fi
say "all tests passed"
