#!/usr/bin/env bash
# Type-checks the crate and its tests for macOS, on Linux: with rustup's standard library for it, and with
# stand-ins for the C compiler, since nothing is linked. It can't show whether the code works there. Exit code 69: rustup
# can't fetch that library here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

triple=aarch64-apple-darwin
if ! command -v rustup >/dev/null 2>&1; then
  echo "error: rustup is not installed; it fetches the standard library for $triple" >&2
  exit 1
fi
rustup target add "$triple" || {
  echo "error: rustup cannot fetch the standard library for $triple" >&2
  exit 69
}

target=${CARGO_TARGET_DIR:-$PWD/target}/macos
mkdir -p "$target/tools"
# An empty object file, and an empty archive.
cat >"$target/tools/cc" <<'END'
#!/bin/sh
while [ $# -gt 1 ]; do
  if [ "$1" = -o ]; then
    : >"$2"
  fi
  shift
done
END
cat >"$target/tools/ar" <<'END'
#!/bin/sh
for word in "$@"; do
  case $word in
  *.a) printf '!<arch>\n' >"$word" ;;
  esac
done
END
chmod +x "$target/tools/cc" "$target/tools/ar"
CC_aarch64_apple_darwin=$target/tools/cc AR_aarch64_apple_darwin=$target/tools/ar CARGO_TARGET_DIR=$target \
  cargo clippy --locked --all-targets --target "$triple" -- --deny warnings
echo "the crate compiles up to the linker for $triple, without a warning"
