#!/usr/bin/env bash
# The project's commands; ./build.sh help lists them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

help() {
    cat <<'TEXT'
./build.sh [COMMAND]

  (none)              build modules/rate_limit.so
  demo [--redis] [--keep]
                      start an example API under nginx and php-fpm, send it traffic from several
                      clients and show what they got; --redis keeps the state on a Redis server
                      instead of in shared memory, --keep leaves the API running until Enter
  test [--all]        format, lints, Rust, phpt and PHPUnit tests; --all adds what needs heavy peers
  bench               measure everything in benches/, a few minutes, and compare with what it has to
                      reach; writes benches/results.md, two charts and the figures in README.md
  accuracy [--seed N] simulate how often the counter decides otherwise than an exact window; writes
                      benches/accuracy.md and a plot
  soak [--seconds N]  send mixed traffic through php-fpm for ten minutes, on a Redis server that fails
                      at random, and compare each verdict with the server's own command log
  install             install the module for this machine's PHP and enable it
  uninstall           disable and remove it
  help                this text

Each command installs what it needs first (Debian and Ubuntu, as root or through sudo) and says so.
TEXT
}

command=${1:-build}
case $command in
build | demo | test | bench | accuracy | soak | install | uninstall)
    exec bash "scripts/$command.sh" "${@:2}"
    ;;
help | --help | -h) help ;;
*)
    help >&2
    printf "\nbuild.sh: unknown command '%s'\n" "$command" >&2
    exit 2
    ;;
esac
