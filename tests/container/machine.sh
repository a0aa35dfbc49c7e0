#!/usr/bin/env bash
# Creates a small root from this machine's programs: `tests/container/machine.sh ROOT PROGRAM...` includes a shell, what
# scripts need, and the programs, in /usr/local/bin, each with its libraries. It replaces a base image when there
# is no registry.
set -euo pipefail
root=$1
shift
mkdir -p "$root"/{etc,tmp,proc,dev,usr/bin,usr/local/bin}
chmod 1777 "$root/tmp"
# As in most bases, /bin is a link.
ln -s usr/bin "$root/bin"
echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"

copied=(sh bash cat id ls sleep)
for name in "${copied[@]}"; do
  install "$(type -P "$name")" "$root/usr/bin/$name"
done
install "$@" "$root/usr/local/bin/"
{ ldd "$root"/usr/bin/* "$root"/usr/local/bin/* 2>/dev/null || true; } | grep -o '/[^ ]*' | sort -u |
  while IFS= read -r library; do
    # Its own programs are named as well.
    [[ $library == "$root"/* || ! -e $library ]] || install -D "$library" "$root$library"
  done
