#!/usr/bin/env bash
# What is given away, in target/dist: the tarball and SHA256SUMS (packaging/tarball.sh). All of it is made twice, from two
# copies of the sources in different folders and with nothing else in common but cargo's downloads, and compared.
set -euo pipefail
# The bash of macOS does not know it.
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
  echo "made in $1 in $SECONDS s" >&2
  # The next one needs the room.
  rm -rf "$2/made"
}
make "$first" "$work/one"
make "$second" "$work/two"

diff -r "$work/one/dist" "$work/two/dist"
# Those of earlier versions do not stand in SHA256SUMS any more.
rm -f "$out"/murmur-*.tar.gz "$out/SHA256SUMS"
mv -f "$work"/one/dist/* "$out"
echo "Made twice, in different folders, and the same byte for byte:"
cat "$out/SHA256SUMS"
