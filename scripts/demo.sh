#!/usr/bin/env bash
# ./build.sh demo: the example API of php/demo under php-fpm and nginx, and traffic for it.
# shellcheck source=scripts/lib/common.sh
. "${BASH_SOURCE[0]%/*}/lib/common.sh"

endpoints=(trending feed search)
declare -A limits=([trending]=100 [feed]=30 [search]=10)
# What each client sends to each endpoint: two scrapers, and one client that keeps within its limits.
clients=(127.0.0.2 127.0.0.3 127.0.0.4)
declare -A sends=(
    [127.0.0.2]='trending=120 feed=40 search=15'
    [127.0.0.3]='trending=150 feed=50 search=20'
    [127.0.0.4]='trending=60 feed=20 search=5'
)

redis='' keep='' store=memory://
for argument in "$@"; do
    case $argument in
    --redis) redis=1 ;;
    --keep) keep=1 ;;
    *) die "demo: unknown argument '$argument' (known: --redis, --keep)" ;;
    esac
done

dir=$work/demo
origin='' # http://127.0.0.1:PORT

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
    start redis-server --port 0 --unixsocket "$dir/redis.sock" --unixsocketperm 777 --save '' \
        --dir "$dir"
    wait_for redis-cli -s "$dir/redis.sock" ping || broken "redis-server did not start"
    store=redis+unix://$dir/redis.sock
}

# The configuration of php/demo, filled in, and both servers.
start_origin() {
    local user group port file as=()
    user=$(id -un) group=$(id -gn)
    if [ "$(id -u)" = 0 ]; then
        user=nobody group=$(id -gn nobody)
        as=(--allow-to-run-as-root)
    fi
    port=$("$PHP" -n -r 'echo explode(":", stream_socket_get_name(stream_socket_server("tcp://127.0.0.1:0"), false))[1];')
    origin=http://127.0.0.1:$port
    for file in php/demo/*; do
        sed -e "s|@DIR@|$dir|g; s|@PORT@|$port|g; s|@STORE@|$store|g" \
            -e "s|@USER@|$user|g; s|@GROUP@|$group|g" "$file" >"$dir/${file##*/}"
    done
    RL_DAILY_SALT=$(head -c 32 /dev/urandom | sha256sum | cut -c 1-64)
    export RL_DAILY_SALT

    start "$PHP_FPM" -n -y "$dir/php-fpm.conf" -d "extension=$module" "${as[@]}"
    wait_for test -S "$dir/php-fpm.sock" || broken "php-fpm did not start"
    start nginx -e "$dir/nginx.log" -p "$dir" -c "$dir/nginx.conf"
    wait_for curl -s -o /dev/null "$origin/" || broken "nginx did not start"
}

# A counter's window ends with the minute; in a burst across that instant the first unit of the old
# window expires and one more is admitted. Away from it the counts below are exact.
wait_for_quiet_minute() {
    local second
    second=$(date +%-S)
    [ "$second" -gt 45 ] || return 0
    say "waiting $((60 - second)) s for the next minute, so that no counter's window ends amid the traffic"
    sleep $((60 - second))
}

send_traffic() {
    local client pair pids=() pid
    for client in "${clients[@]}"; do
        for pair in ${sends[$client]}; do
            curl -sS --interface "$client" -o /dev/null -w '%{http_code}\n' \
                "$origin/api/v1/${pair%=*}?n=[1-${pair#*=}]" >"$dir/$client-${pair%=*}" &
            pids+=($!)
        done
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
}

# The table, and whether every cell is what the limit says.
report() {
    local endpoint client sent allowed denied expected wrong=0
    printf '\n%-10s %-9s %-11s %6s %6s %6s %6s\n' endpoint limit client sent 200 429 other
    for endpoint in "${endpoints[@]}"; do
        for client in "${clients[@]}"; do
            sent=$(wc -l <"$dir/$client-$endpoint")
            allowed=$(grep -c '^200$' "$dir/$client-$endpoint" || true)
            denied=$(grep -c '^429$' "$dir/$client-$endpoint" || true)
            printf '%-10s %-9s %-11s %6d %6d %6d %6d' "$endpoint" "${limits[$endpoint]}/min" \
                "$client" "$sent" "$allowed" "$denied" $((sent - allowed - denied))
            expected=$((sent < limits[$endpoint] ? sent : limits[$endpoint]))
            if [ "$allowed" != "$expected" ] || [ "$denied" != $((sent - expected)) ]; then
                printf '   expected %d and %d' "$expected" $((sent - expected))
                wrong=1
            fi
            printf '\n'
        done
    done
    return "$wrong"
}

packages=("${build_packages[@]}" curl nginx php8.4-fpm)
[ -z "$redis" ] || packages+=(redis-server)
provide "${packages[@]}"
build_module "$module" php

mkdir -m 755 "$dir" && mkdir -m 777 "$dir/tmp"
[ -z "$redis" ] || start_redis
start_origin
say "the API is at $origin: nginx, $(basename "$PHP_FPM") with 4 workers, rate_limit.store = $store"
wait_for_quiet_minute
say "sending requests from ${#clients[@]} clients at once"
send_traffic
report || broken "the counts are not what the limits say"

printf '\nEach client has its own budget, shared by %d worker processes.\n' \
    "$(cut -d ' ' -f 1 "$dir/access.log" | sort -u | wc -l)"
if [ -n "$redis" ]; then
    printf 'On the server: %s keys, for example %s\n' "$(redis-cli -s "$dir/redis.sock" dbsize)" \
        "$(redis-cli -s "$dir/redis.sock" randomkey)"
fi
printf '\n$ curl -i --interface %s %s/api/v1/search\n' "${clients[0]}" "$origin"
curl -sSi --interface "${clients[0]}" "$origin/api/v1/search" | tr -d '\r'

if [ -n "$keep" ]; then
    printf '\n'
    say "still running; try: curl -i $origin/api/v1/search"
    if [ -t 0 ]; then
        read -r -p '    Enter or Ctrl-C ends it. ' || true
    else
        wait "${children[-1]}"
    fi
fi
