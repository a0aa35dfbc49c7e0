#!/usr/bin/env bash
# Installs what releases for Linux are linked with, if it is missing: Rust's library for musl, with rustup, and a C
# compiler for musl, as root on Debian and the like. Without them releases are linked with glibc (packaging/machine.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/machine.sh

case $(release_target) in
*-linux-gnu) ;;
*) exit ;;
esac
musl=$(rust_says host)
musl=${musl%-gnu}-musl
if [[ ! -d $(rustc --print target-libdir --target "$musl") ]]; then
  command -v rustup >/dev/null || {
    echo "error: this Rust lacks its library for $musl, and rustup, which can install it" >&2
    exit 69
  }
  rustup target add "$musl" || exit 69
fi
if ! command -v musl-gcc >/dev/null; then
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "error: musl-gcc is not installed; install it (Debian: apt-get install musl-tools)" >&2
    exit 69
  fi
  apt-get update --quiet && DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends musl-tools || exit 69
fi
