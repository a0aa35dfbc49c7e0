#!/usr/bin/env bash
# The layout of every package of murmur: `packaging/layout.sh PREFIX` takes a folder with
# bin/murmur, and adds the other names of that program, shell completions, and manual pages.
set -euo pipefail

if [[ $# != 1 || ! -x $1/bin/murmur ]]; then
  echo "usage: packaging/layout.sh PREFIX (with PREFIX/bin/murmur)" >&2
  exit 2
fi
prefix=$1
share=$prefix/share
# Neither reads nor creates a data folder.
murmur() {
  "$prefix/bin/murmur" "$@"
}

for name in mm derun murmur-host; do
  ln -sf murmur "$prefix/bin/$name"
done

mkdir -p "$share"/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,man/man1}
for name in murmur mm derun; do
  murmur completions bash --as "$name" >"$share/bash-completion/completions/$name"
  murmur completions zsh --as "$name" >"$share/zsh/site-functions/_$name"
  murmur completions fish --as "$name" >"$share/fish/vendor_completions.d/$name.fish"
done
murmur man "$share/man/man1"
