# shellcheck shell=bash
# Sourced by every command: messages, steps with visible progress, and an end to all that was started.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
readonly root

say() { printf '==> %s\n' "$*"; }

die() {
    printf 'build.sh: %s\n' "$*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif has sudo; then
        sudo "$@"
    else
        die "needs root or sudo for: $*"
    fi
}

# Scratch space of this run, and the processes to end with it. Unprivileged workers reach their
# sockets and scripts through it, so it can be entered by anyone but not listed.
work=$(mktemp -d "${TMPDIR:-/tmp}/rate_limit.XXXXXX")
chmod 711 "$work"
children=()

finish() {
    local status=$? pid
    trap - EXIT
    trap '' INT TERM HUP
    for pid in "${children[@]}"; do end "$pid"; done
    release_services
    rm -rf "$work"
    exit "$status"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# end PID: asks a child of this shell to stop, and kills it if it has not within five seconds.
end() {
    kill -TERM "$1" 2>/dev/null || return 0
    for _ in {1..50}; do
        kill -0 "$1" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}

# wait_for COMMAND...: returns once COMMAND succeeds; gives up after ten seconds.
wait_for() {
    for _ in {1..100}; do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    return 1
}

# tick LOG: a line every ten seconds, with the last line of LOG, so that no step is silent.
tick() {
    local began=$SECONDS
    while sleep 10 >/dev/null 2>&1; do
        printf '    ... %d s%s\n' $((SECONDS - began)) "$(last_line "$1")"
    done
}

last_line() {
    local line
    line=$(tail -n 1 "$1" 2>/dev/null | tr -d '\r' | cut -c 1-70 | sed 's/^ *//')
    printf '%s' "${line:+, $line}"
}

# timed TEXT LOG COMMAND...: runs COMMAND under a ticker and says how long it took.
timed() {
    local text=$1 log=$2 began=$SECONDS status=0 ticker
    shift 2
    say "$text"
    tick "$log" &
    ticker=$!
    children+=("$ticker")
    "$@" </dev/null || status=$?
    kill "$ticker"
    wait "$ticker" 2>/dev/null || true
    unset 'children[-1]'
    [ "$status" = 0 ] && printf '    done in %d s\n' $((SECONDS - began))
    return "$status"
}

# step TEXT COMMAND...: output goes to a log that is shown only when COMMAND fails.
step() {
    local log
    log=$(mktemp "$work/log.XXXXXX")
    timed "$1" "$log" logged "$log" "${@:2}" && return
    tail -n 200 "$log" >&2
    die "failed: $1"
}

logged() { "${@:2}" >"$1" 2>&1; }

# show TEXT COMMAND...: output is shown as it comes.
show() { timed "$1" /dev/null "${@:2}" || die "failed: $1"; }

# shellcheck source=scripts/lib/packages.sh
. scripts/lib/packages.sh
# shellcheck source=scripts/lib/module.sh
. scripts/lib/module.sh
