# What test scripts claim, and how they say that it is not so.
# shellcheck shell=bash

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Whether the first text is the second; the third says of what.
is() {
  [[ $1 == "$2" ]] || fail "$3 is
$1
and should be
$2"
}

# Whether the first text has the second in it.
has() {
  [[ $1 == *"$2"* ]] || fail "it says
$1
and should say
$2"
}
