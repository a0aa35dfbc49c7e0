#!/usr/bin/env bash
# Everything that CI checks (`just check`). Lints, documentation, dependencies and packages are checked beside the tests,
# which mostly wait: with a lower priority, and their output follows that of the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d "${TMPDIR:-/tmp}/murmur-check-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

just fmt-check shell

mkfifo "$scratch/stderr"
just hermetic 2>"$scratch/stderr" &
tests=$!
beside=
while IFS= read -r line; do
  printf '%s\n' "$line" >&2
  # cargo compiles for one command at a time, so until the tests run, others would only delay them.
  if [[ -z $beside && $line == *" Running "* ]]; then
    nice just lint docs book deny package >"$scratch/beside" 2>&1 &
    beside=$!
  fi
done <"$scratch/stderr"

failed=0
wait "$tests" || failed=$?
if [[ -n $beside ]]; then
  wait "$beside" || failed=$?
  cat "$scratch/beside"
fi
if [[ $failed != 0 ]]; then
  exit "$failed"
fi

just bench-smoke
