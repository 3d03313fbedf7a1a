#!/bin/sh
# How fast `rate-limit replay` reads an access log, against GoAccess and an awk that counts one field, on the same file.
#
#     benches/replay.sh [LOG]
#
# Without LOG, a million lines of nginx's combined format are made. The three take turns, ROUNDS (5) times; the table has
# the medians. Needs goaccess and a release build: cargo build --release --no-default-features --features cli
#
# Not measured: a log that is not in the page cache, gzip, and what else GoAccess finds out (browsers, referrers, countries).
set -eu

rounds=${ROUNDS:-5}
tool=${RATE_LIMIT:-$(dirname "$0")/../target/release/rate-limit}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

log=${1:-$work/access.log}
if [ $# -eq 0 ]; then
    awk 'BEGIN {
        srand(7)
        for (i = 0; i < 1000000; i++) {
            client = int(50000 * rand() ^ 3)
            second = i / 20
            printf "203.%d.%d.%d - - [01/Dec/2026:%02d:%02d:%02d +0000] ", client / 65536, client / 256 % 256, client % 256,
                second / 3600, second / 60 % 60, second % 60
            printf "\"GET /api/v1/items/%d?page=%d HTTP/1.1\" 200 %d ", 5000 * rand() ^ 2, 9 * rand(), 9999 * rand()
            print "\"https://www.example.com/items\" \"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\""
        }
    }' > "$log"
fi
lines=$(wc -l < "$log")

run() {
    case $1 in
        rate-limit) "$tool" replay --limit 20 "$log" ;;
        goaccess) goaccess "$log" --log-format=COMBINED --no-progress --no-global-config -o "$work/goaccess.json" ;;
        awk) awk '{ n[$1]++ } END { for (i in n) c++; print c }' "$log" ;;
    esac > "$work/out" 2> "$work/err" || { cat "$work/err" >&2; exit 1; }
}

for contender in rate-limit goaccess awk; do run $contender; done
round=0
while [ $round -lt "$rounds" ]; do
    for contender in rate-limit goaccess awk; do
        start=$(date +%s%N)
        run $contender
        echo $(($(date +%s%N) - start)) >> "$work/$contender.ns"
    done
    round=$((round + 1))
done

median() {
    sort -n "$work/$1.ns" | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'
}
slowest=$(median goaccess)
echo "$lines lines, medians of $rounds"
for contender in rate-limit goaccess awk; do
    median $contender | awk -v name=$contender -v lines="$lines" -v goaccess="$slowest" \
        '{ printf "%-10s  %6.2f s  %5.2f million lines/s  %5.1f times goaccess\n", name, $1 / 1e9, lines / $1 * 1e3, goaccess / $1 }'
done
