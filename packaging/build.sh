#!/usr/bin/env bash
# Builds what is given to others: `packaging/build.sh PREFIX` fills the folder as packaging/layout.sh says. The same
# sources and toolchain give the same bytes, wherever the sources, cargo's folders and the target folder lie; `just
# dist` tries it. CARGO_TARGET_DIR is respected; RUSTFLAGS are not, nor the flags in a config.toml of cargo's, because
# what is given away is the same from everyone.
#
# On Linux the programs are static: they need no library, so they run in a container that has nothing else. The hook,
# which runs at every call of a tool, is linked at a fixed address besides, and has nothing to relocate first.
set -euo pipefail

if [[ $# != 1 ]]; then
  echo "usage: packaging/build.sh PREFIX" >&2
  exit 2
fi
mkdir -p "$1"
prefix=$(cd "$1" && pwd -P)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/machine.sh

triple=$(rust_says host)
commit=$(rust_says commit-hash)
sysroot=$(rustc --print sysroot)
target=${CARGO_TARGET_DIR:-target}/packaging
mkdir -p "$target"
target=$(cd "$target" && pwd -P)
# Where cargo has not run yet there is none.
mkdir -p "${CARGO_HOME:-$HOME/.cargo}"
cargo_home=$(cd "${CARGO_HOME:-$HOME/.cargo}" && pwd -P)

# Nothing of this machine's folders, and no symbols, stands in what is given away. Where the sources of the standard
# library are installed, rustc names them instead of the name that they have elsewhere.
flags=(
  "--remap-path-prefix=$PWD=murmur"
  "--remap-path-prefix=$cargo_home=cargo"
  "--remap-path-prefix=$target=target"
  "--remap-path-prefix=$sysroot/lib/rustlib/src/rust=/rustc/$commit"
  -Cstrip=symbols
)
case $triple in
*-linux-*)
  flags+=(-Ctarget-feature=+crt-static)
  at=(-Crelocation-model=static)
  ;;
*) at=() ;;
esac

# Flags that have spaces in them, as paths may, are told apart by this character.
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${flags[*]}")
export CARGO_ENCODED_RUSTFLAGS
# With `--target` the flags are not those of what runs while it is built.
cargo=(rustc --locked --release --package murmur --target "$triple" --target-dir "$target")
cargo "${cargo[@]}" --bin murmur
cargo "${cargo[@]}" --bin murmur-hook -- ${at[@]+"${at[@]}"}

mkdir -p "$prefix/bin"
for program in murmur murmur-hook; do
  install -m 755 "$target/$triple/release/$program" "$prefix/bin/$program"
done
packaging/layout.sh "$prefix"
