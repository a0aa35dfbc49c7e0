# Assertions for test scripts.
# shellcheck shell=bash

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Fails unless both texts are equal; the third describes them.
is() {
  [[ $1 == "$2" ]] || fail "$3 is
$1
and should be
$2"
}

# Fails unless the first text contains the second.
has() {
  [[ $1 == *"$2"* ]] || fail "it says
$1
and should say
$2"
}
