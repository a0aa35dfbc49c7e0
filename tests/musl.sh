#!/usr/bin/env bash
# Tests the parts of crates/sys that only programs linked with musl have, as releases for Linux are: the allocator, copies
# and exec. Exit code 69: what links them can't be installed here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/machine.sh

packaging/musl.sh
cargo test --locked --quiet --package murmur-sys --lib --target "$(release_target)"
