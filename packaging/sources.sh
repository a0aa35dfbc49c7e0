#!/usr/bin/env bash
# Copies the sources into an empty folder: `packaging/sources.sh FOLDER`. They are copied in their current state, committed
# or not, without files that git doesn't track and without deleted ones.
set -euo pipefail

if [[ $# != 1 ]]; then
  echo "usage: packaging/sources.sh FOLDER" >&2
  exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."

git ls-files -z | while IFS= read -r -d '' file; do
  if [[ -e $file || -L $file ]]; then
    printf '%s\0' "$file"
  fi
done | tar --null --files-from=- -cf - | tar -xf - -C "$out"
