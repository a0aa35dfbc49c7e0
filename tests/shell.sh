#!/usr/bin/env bash
# Runs shellcheck on every tracked shell script, found by its name or its first line.
set -euo pipefail
# The bash of macOS doesn't have this option.
shopt -s inherit_errexit 2>/dev/null || true
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v shellcheck >/dev/null 2>&1; then
  echo "note: shell scripts were not checked: shellcheck is not installed (apt-get install shellcheck, brew install shellcheck)" >&2
  exit 0
fi

scripts=()
while IFS= read -r -d '' file; do
  # Deleted files are still listed.
  [[ -f $file ]] || continue
  case $file in
  # Foreign scripts, and those that are only data here.
  fixtures/*) ;;
  *.sh | *.bash) scripts+=("$file") ;;
  *)
    first=
    IFS= read -r first <"$file" 2>/dev/null || true
    if [[ $first =~ ^#!.*[/\ ](ba|da)?sh( |$) ]]; then
      scripts+=("$file")
    fi
    ;;
  esac
done < <(git ls-files -z)
if [[ ${#scripts[@]} -lt 20 ]]; then
  echo "error: only ${#scripts[@]} shell scripts found; there should be more" >&2
  exit 1
fi
shellcheck "${scripts[@]}"
echo "shell: ${#scripts[@]} scripts"
