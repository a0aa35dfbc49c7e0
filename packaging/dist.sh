#!/usr/bin/env bash
# A release, in target/dist: the tarball and SHA256SUMS (packaging/tarball.sh). It is built twice, from two
# copies of the sources in different folders that share only cargo's downloads, and compared.
set -euo pipefail
# The bash of macOS doesn't have this option.
shopt -s inherit_errexit 2>/dev/null || true
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${CARGO_TARGET_DIR:-$PWD/target}/dist
mkdir -p "$out"
work=$(mktemp -d "$out/work-XXXXXX")
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

first=$work/one/murmur
second="$work/two/murmur, elsewhere"
packaging/sources.sh "$first"
mkdir -p "$second"
cp -pRP "$first/." "$second"

# make SOURCES FOLDER
make() {
  SECONDS=0
  CARGO_TARGET_DIR=$2/made "$1/packaging/build.sh" "$2/prefix"
  "$1/packaging/tarball.sh" "$2/prefix" "$2/dist"
  echo "built in $1 in $SECONDS s" >&2
  # Frees space for the next one.
  rm -rf "$2/made"
}
make "$first" "$work/one"
make "$second" "$work/two"

diff -r "$work/one/dist" "$work/two/dist"
# Tarballs of earlier versions would not be in SHA256SUMS.
rm -f "$out"/murmur-*.tar.gz "$out/SHA256SUMS"
mv -f "$work"/one/dist/* "$out"
echo "Built twice, in different folders, with identical results:"
cat "$out/SHA256SUMS"
