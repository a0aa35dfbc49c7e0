# What the scripts that make and test packages ask the machine that they run on.
# shellcheck shell=bash

# What rustc says of itself: `rust_says host`, release or commit-hash.
rust_says() {
  rustc --version --verbose | sed -n "s/^$1: //p"
}

# As GNU's, which macOS does not have.
sha256() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

# GNU's, which can sort, set times, and write both ids into one word; macOS has another.
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
