#!/usr/bin/env bash
# ./build.sh bench: every figure of benches/, beside what it has to reach.
# shellcheck source=scripts/lib/common.sh
. "${BASH_SOURCE[0]%/*}/lib/common.sh"

[ $# -eq 0 ] || die "bench takes no argument"
provide "${build_packages[@]}" curl nginx php-symfony-cache php-symfony-lock php-symfony-rate-limiter \
    php8.4-apcu php8.4-fpm php8.4-redis redis-server strace wrk
build_module "$module" php

dir=$work/bench
mkdir -m 755 "$dir" && mkdir -m 777 "$dir/tmp"
export BENCH_MODULE=$module BENCH_SCRATCH=$dir BENCH_FIGURES=$dir/figures
export BENCH_REDIS_SOCKET=$dir/redis.sock BENCH_BARE_SOCKET=$dir/bare_socket.so
cc -O2 -shared -fPIC -o "$BENCH_BARE_SOCKET" benches/bare_socket.c

# Client and server on one core; processes that meet (b) and a web server (f) have them all.
cores=$(taskset -cp $$ | sed 's/.*: //')
one=${cores%%[-,]*}
taskset -cp "$one" $$ >/dev/null

free_port() {
    "$PHP" -n -r 'echo explode(":", stream_socket_get_name(stream_socket_server("tcp://127.0.0.1:0"), false))[1];'
}

# start COMMAND...: a server in the foreground of a child that ends with this run.
start() {
    "$@" >>"$dir/output.log" 2>&1 &
    children+=($!)
}

# broken TEXT: ends the run with what the servers logged.
broken() {
    tail -n 8 "$dir"/*.log >&2
    die "$1"
}

start_redis() {
    BENCH_REDIS_PORT=$(free_port)
    export BENCH_REDIS_PORT
    start redis-server --bind 127.0.0.1 --port "$BENCH_REDIS_PORT" --unixsocket "$BENCH_REDIS_SOCKET" \
        --unixsocketperm 777 --save '' --dir "$dir"
    export BENCH_REDIS_PID=$!
    wait_for redis-cli -s "$BENCH_REDIS_SOCKET" ping || broken "redis-server did not start"
}

start_origin() {
    local user group port file as=()
    user=$(id -un) group=$(id -gn)
    if [ "$(id -u)" = 0 ]; then
        user=nobody group=$(id -gn nobody)
        as=(--allow-to-run-as-root)
    fi
    port=$(free_port)
    export BENCH_ORIGIN=http://127.0.0.1:$port
    for file in benches/article.php benches/origin/*; do
        sed -e "s|@DIR@|$dir|g; s|@PORT@|$port|g; s|@USER@|$user|g; s|@GROUP@|$group|g" \
            "$file" >"$dir/${file##*/}"
    done
    start taskset -c "$cores" "$PHP_FPM" -n -y "$dir/php-fpm.conf" -d zend_extension=opcache -d extension=igbinary \
        -d extension=redis -d "extension=$module" "${as[@]}"
    wait_for test -S "$dir/php-fpm.sock" || broken "php-fpm did not start"
    start taskset -c "$cores" nginx -e "$dir/nginx.log" -p "$dir" -c "$dir/nginx.conf"
    wait_for curl -sf "$BENCH_ORIGIN/?none" || broken "nginx did not start"
}

# PHP with nothing but what the benchmarks use: no opcache, so no JIT either. Patience, for machines
# with other things to do.
php=("$PHP" -n -d memory_limit=-1 -d rate_limit.timeout=10 -d apc.enable_cli=1 -d ffi.enable=1 -d "extension=$module")
built_in=$("$PHP" -n -m)
for extension in igbinary redis apcu ffi posix sysvsem; do
    grep -qix "$extension" <<<"$built_in" || php+=(-d "extension=$extension")
done

# question TEXT FILE [SETTING...]
question() { show "$1" "${php[@]}" "${@:3}" "benches/$2.php"; }

start_redis
question "a, c: one check in shared memory" memory_check
show "b: processes on one identity" taskset -c "$cores" "${php[@]}" benches/contention.php
question "d, e: one check on Redis" redis_check -d rate_limit.deny_cache=off
start_origin
taskset -acp "$cores" "$BENCH_REDIS_PID" >/dev/null
show "f: whole requests" taskset -c "$cores" "${php[@]}" benches/requests.php
taskset -acp "$one" "$BENCH_REDIS_PID" >/dev/null
question "g: remembered denials" deny_cache
question "h: Symfony on Redis" symfony_redis
question "i: system calls" syscalls
question "j, k: time and memory of the server" server
question "l: bytes of shared memory" memory_bytes
question "m: start-up and size" startup
question "n: identities" identity
question "cost against identities and limits (benches/scaling.svg)" scaling \
    -d rate_limit.memory_size=640M -d rate_limit.deny_cache=off
"${php[@]}" benches/report.php
