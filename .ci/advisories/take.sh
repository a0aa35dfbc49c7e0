#!/usr/bin/env bash
# Takes the advisories about the crates in Cargo.lock from a clone of the RustSec advisory database:
# .ci/advisories/take.sh [CLONE], by default the clone that `cargo deny fetch db` makes.
set -euo pipefail
clone=${1-}
if [[ -z $clone ]]; then
  clones=("${CARGO_HOME:-$HOME/.cargo}"/advisory-dbs/*/)
  clone=${clones[0]}
fi
clone=$(cd "$clone" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=.ci/advisories

awk -F'"' '/^name = /{name=$2} /^source = /{print name}' Cargo.lock | sort -u >"$here/crates.txt"
git -C "$clone" log -1 --format='%cs %H' HEAD >"$here/taken.txt"
rm -rf "$here/crates"
mapfile -t files < <(git -C "$clone" ls-tree -r --name-only HEAD crates |
  awk -F/ 'NR == FNR { wanted[$1]; next } $2 in wanted' "$here/crates.txt" -)
git -C "$clone" archive HEAD "${files[@]}" | tar -x -C "$here"
echo "took ${#files[@]} advisories of $(cat "$here/taken.txt")"
