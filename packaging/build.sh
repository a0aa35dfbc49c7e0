#!/usr/bin/env bash
# Builds a release: `packaging/build.sh PREFIX` fills the folder as packaging/layout.sh describes. The same
# sources and toolchain give the same bytes, wherever the sources, cargo's folders and the target folder are; `just
# dist` checks this. CARGO_TARGET_DIR is respected; RUSTFLAGS and the flags in cargo's config.toml are not, so that
# everybody builds the same.
#
# On Linux the programs are static: they need no libraries, so they run in an otherwise empty container. They are linked
# with musl, if packaging/musl.sh has been run, and at a fixed address, because relocating them takes longer than what
# most commands do. They get random numbers from the system call: a static program may lack C's function for it.
set -euo pipefail

if [[ $# != 1 ]]; then
  echo "usage: packaging/build.sh PREFIX" >&2
  exit 2
fi
mkdir -p "$1"
prefix=$(cd "$1" && pwd -P)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/machine.sh

triple=$(release_target)
commit=$(rust_says commit-hash)
sysroot=$(rustc --print sysroot)
target=${CARGO_TARGET_DIR:-target}/packaging
mkdir -p "$target"
target=$(cd "$target" && pwd -P)
# It doesn't exist before cargo's first run.
mkdir -p "${CARGO_HOME:-$HOME/.cargo}"
cargo_home=$(cd "${CARGO_HOME:-$HOME/.cargo}" && pwd -P)

# A release contains neither paths of this machine nor symbols. If the sources of the standard
# library are installed, rustc uses their path instead of the one used elsewhere.
flags=(
  "--remap-path-prefix=$PWD=murmur"
  "--remap-path-prefix=$cargo_home=cargo"
  "--remap-path-prefix=$target=target"
  "--remap-path-prefix=$sysroot/lib/rustlib/src/rust=/rustc/$commit"
  -Cstrip=symbols
)
case $triple in
*-linux-*)
  flags+=(-Ctarget-feature=+crt-static -Crelocation-model=static --cfg 'getrandom_backend="linux_raw"')
  ;;
esac
case $triple in
*-linux-gnu) echo "note: linked with glibc: run packaging/musl.sh for programs that start faster" >&2 ;;
esac

# Separates flags, which may contain spaces, as paths do.
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${flags[*]}")
export CARGO_ENCODED_RUSTFLAGS
# With `--target`, the flags don't apply to programs that run during the build.
cargo build --locked --release --package murmur --target "$triple" --target-dir "$target" --bin murmur --bin murmur-hook

mkdir -p "$prefix/bin"
for program in murmur murmur-hook; do
  install -m 755 "$target/$triple/release/$program" "$prefix/bin/$program"
done
packaging/layout.sh "$prefix"
