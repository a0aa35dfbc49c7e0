#!/usr/bin/env bash
# The book: `packaging/book.sh` builds docs/ with mdBook (book.toml) into target/book. mdBook calls it back as
# `packaging/book.sh preprocess`, with all pages as JSON on stdin, and takes them from its stdout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1-} in
'')
  . .ci/versions.sh
  if ! command -v mdbook >/dev/null 2>&1; then
    echo "error: mdbook is not installed; run: cargo install mdbook --locked --version $mdbook_version --no-default-features --features search" >&2
    exit 1
  fi
  if ! command -v jq >/dev/null 2>&1; then
    echo "error: jq is not installed" >&2
    exit 1
  fi
  book=${CARGO_TARGET_DIR:-$PWD/target}/book
  mdbook build --dest-dir "$book" .
  echo "$book/index.html"
  ;;
preprocess)
  # mdBook first asks whether the renderer is supported: every one is.
  if [[ ${2-} == supports ]]; then
    exit
  fi
  # README.md is the first page. Links that leave docs/ become text; hidden command lines and the notes
  # after ```console are removed.
  # shellcheck disable=SC2016
  jq --compact-output --rawfile readme README.md '
    def unlinked($places): gsub("\\[(?<text>[^\\]]*)\\]\\(" + $places + "[^)]*\\)"; .text);
    ($readme | gsub("\\]\\(docs/"; "](") | unlinked("(?:SUMMARY|CONTRIBUTING|CHANGELOG|LICENSE|fake-claude|fixtures|crates)")) as $first
    | .[1]
    # Before 0.5, items were called sections.
    | (if has("sections") then .sections else .items end) |= [{Chapter: {name: "murmur", content: $first, number: null, sub_items: [], path: "index.md",
        source_path: null, parent_names: []}}] + .
    | walk(if type == "object" and has("content") then .content |= (
        unlinked("\\.\\./\\.\\./")
        | gsub("<!-- run\n(?:.|\n)*?\n-->\n"; "")
        | gsub("```console \\([^)\n]*\\)"; "```console")
      ) else . end)'
  ;;
*)
  echo "usage: packaging/book.sh" >&2
  exit 2
  ;;
esac
