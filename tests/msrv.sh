#!/usr/bin/env bash
# Compiles everything with the oldest Rust that Cargo.toml allows. Exit code 69: rustup can't fetch it here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
if ! command -v rustup >/dev/null 2>&1; then
  echo "error: rustup is not installed; it fetches Rust $version" >&2
  exit 1
fi
if ! rustup run "$version" rustc --version >/dev/null 2>&1; then
  rustup toolchain install "$version" --profile minimal --no-self-update || {
    echo "error: rustup cannot fetch Rust $version" >&2
    exit 69
  }
fi
# Separate from the output of the newer one.
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/msrv rustup run "$version" cargo check --locked --all-targets
echo "Rust $version compiles everything"
