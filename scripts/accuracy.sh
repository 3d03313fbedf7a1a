#!/usr/bin/env bash
# ./build.sh accuracy: how often the counter decides otherwise than an exact window, simulated.
# shellcheck source=scripts/lib/common.sh
. "${BASH_SOURCE[0]%/*}/lib/common.sh"

provide rustup gcc libc6-dev
cargo bench --locked -q --no-default-features --bench accuracy -- --write "$@"
say "written: benches/accuracy.md, benches/accuracy.svg"
