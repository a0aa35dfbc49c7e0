#!/usr/bin/env bash
# The tarball: `packaging/tarball.sh PREFIX FOLDER` packs what packaging/build.sh built in PREFIX, with documents, licenses
# and a bill of materials, into FOLDER/murmur-VERSION-TRIPLE.tar.gz, and writes FOLDER/SHA256SUMS. The same PREFIX and
# SOURCE_DATE_EPOCH (default: the time of the last commit) give the same bytes.
set -euo pipefail
# The bash of macOS doesn't have this option.
shopt -s inherit_errexit 2>/dev/null || true

if [[ $# != 2 || ! -x $1/bin/murmur ]]; then
  echo "usage: packaging/tarball.sh PREFIX FOLDER (with PREFIX/bin/murmur)" >&2
  exit 2
fi
prefix=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/machine.sh
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

triple=$(release_target)
name=murmur-$("$prefix/bin/murmur" --version | cut -d ' ' -f 2)-$triple
scratch=$(mktemp -d "${TMPDIR:-/tmp}/murmur-tarball-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

mkdir -p "$scratch/$name"
cp -RP "$prefix/bin" "$prefix/share" "$scratch/$name"
cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT permissions.toml.default packaging/{install,prefix,uninstall}.sh \
  "$scratch/$name"
cp -RP docs "$scratch/$name"
# Examples that packaging/containers.md links to.
mkdir "$scratch/$name/packaging"
cp -RP packaging/compose.yaml packaging/kubernetes "$scratch/$name/packaging"
packaging/bill.sh "$scratch/$name"

# gzip's own header has neither name nor time.
(cd "$scratch" && gnu_tar --create --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=u+w,go-w,a+rX \
  --mtime="@$SOURCE_DATE_EPOCH" "$name" | gzip -n -9) >"$scratch/tarball"
chmod 644 "$scratch/tarball"
mv -f "$scratch/tarball" "$out/$name.tar.gz"
cd "$out"
sha256 "$name.tar.gz" >SHA256SUMS
