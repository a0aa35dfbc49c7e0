# What the scripts that build and test packages need to know about the machine.
# shellcheck shell=bash

# What rustc reports about itself: `rust_says host`, release or commit-hash.
rust_says() {
  rustc --version --verbose | sed -n "s/^$1: //p"
}

# The target of a release. On Linux it is musl, if Rust's library for it and a C compiler for it are installed: programs
# start faster with it than with glibc, which asks the processor for all of its features first.
release_target() {
  local host musl
  host=$(rust_says host)
  musl=${host%-gnu}-musl
  if [[ $host == *-linux-gnu && -d $(rustc --print target-libdir --target "$musl") ]] && command -v musl-gcc >/dev/null; then
    echo "$musl"
  else
    echo "$host"
  fi
}

# Like GNU's sha256sum, which macOS doesn't have.
sha256() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

# GNU tar, which can sort files and set times and owners; macOS has another tar.
gnu_tar() {
  if tar --version | grep -q GNU; then
    tar "$@"
  elif command -v gtar >/dev/null 2>&1; then
    gtar "$@"
  else
    echo "error: GNU tar is not installed; install it (brew install gnu-tar)" >&2
    return 1
  fi
}
