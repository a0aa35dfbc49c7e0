#!/usr/bin/env bash
# Installs what packaging/layout.sh describes: `packaging/install.sh [--from FOLDER] [PREFIX]`. The default PREFIX is
# ~/.local, and the default FOLDER is the one with this script, as in a tarball. DESTDIR is prepended to PREFIX.
#
# First everything is copied, then everything is renamed: a running daemon or agent keeps its program, and
# without enough space nothing changes. PREFIX/share/murmur/files lists what was installed, one path per
# line, with a `/` at the end of folders that were created; packaging/uninstall.sh removes exactly that.
#
# Installed files belong to whoever installs them, and everybody may read and run them, whatever their mode in FOLDER.
set -euo pipefail
umask 022

from=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=packaging/prefix.sh
. "$from/prefix.sh"

if [[ ${1:-} == --from && $# -ge 2 ]]; then
  from=$2
  shift 2
fi
usage="usage: packaging/install.sh [--from FOLDER] [PREFIX]"
if [[ ${1:-} == --help ]]; then
  echo "$usage
PREFIX is ~/.local if none is given; FOLDER, which has bin and share, the folder of install.sh."
  exit 0
elif [[ $# -gt 1 || ${1:-} == -* ]]; then
  echo "$usage" >&2
  exit 2
fi
for program in murmur murmur-hook; do
  [[ -x $from/bin/$program ]] || fail "there is no bin/$program in '$from'; name the folder with --from"
done
use_prefix "$@"

# Whether a path belongs to an earlier installation.
is_ours() {
  [[ -f $prefix/$list ]] && grep -qxF -- "$1" "$prefix/$list"
}

paths=()
while IFS= read -r path; do
  paths+=("$path")
done < <(cd "$from" && find bin share \( -type f -o -type l \) ! -path "$list" ! -path bin/murmur ! -path bin/murmur-hook |
  LC_ALL=C sort)
# Each is renamed separately. These two belong together, so they come last, in direct sequence.
paths+=(bin/murmur-hook bin/murmur)

for path in "${paths[@]}"; do
  there=$prefix/$path
  if [[ -d $there ]]; then
    fail "'$there' is a folder; move it away"
  elif [[ -e $there || -L $there ]] && ! is_ours "$path"; then
    fail "'$there' already exists and was not installed from here; move it away, or choose another PREFIX"
  fi
done

new=.murmur-new-$$
trap 'for path in "${paths[@]}"; do rm -f "$prefix/${path%/*}/$new-${path##*/}"; done; rm -f "$prefix/$list$new"' EXIT

# Creates a folder and remembers which parents it created.
folders=()
make() {
  if [[ ! -d $prefix/$1 ]]; then
    if [[ $1 == */* ]]; then
      make "${1%/*}"
    fi
    mkdir "$prefix/$1"
    folders+=("$1/")
  fi
}
mkdir -p "$prefix"
make share/murmur
for path in "${paths[@]}"; do
  make "${path%/*}"
  copy=$prefix/${path%/*}/$new-${path##*/}
  # Without -R, BSD's chown follows links.
  cp -RP "$from/$path" "$copy"
  if [[ ! -L $copy ]]; then
    case $path in
    bin/*) chmod 755 "$copy" ;;
    *) chmod 644 "$copy" ;;
    esac
  fi
done
# Written before the first file is in place: whatever happens now, uninstall.sh knows every file.
printf '%s\n' ${folders[@]+"${folders[@]}"} "${paths[@]}" ${before[@]+"${before[@]}"} | LC_ALL=C sort -u >"$prefix/$list$new"
mv -f "$prefix/$list$new" "$prefix/$list"
for path in "${paths[@]}"; do
  mv -f "$prefix/${path%/*}/$new-${path##*/}" "$prefix/$path"
done

# Files of the earlier installation only.
for path in ${before[@]+"${before[@]}"}; do
  if [[ $path != */ && ! -e $from/$path && ! -L $from/$path ]]; then
    rm -f "$prefix/$path"
  fi
done
printf '%s\n' ${folders[@]+"${folders[@]}"} "${paths[@]}" ${before[@]+"${before[@]}"} | LC_ALL=C sort -u |
  while IFS= read -r path; do
    if [[ -e $prefix/$path || -L $prefix/$path ]]; then
      printf '%s\n' "$path"
    fi
  done >"$prefix/$list$new"
mv -f "$prefix/$list$new" "$prefix/$list"

echo "Installed $("$from/bin/murmur" --version) in $prefix: ${#paths[@]} files, named in $prefix/$list"
if [[ -n ${DESTDIR:-} ]]; then
  exit 0
fi
if [[ ${#before[@]} != 0 ]]; then
  echo "Running processes keep the old program; to update the daemon, run: murmur restart"
fi
case :$PATH: in
*":$place/bin:"*) ;;
*) echo "$place/bin is not on your PATH; in your shell's profile: export PATH=\"$place/bin:\$PATH\"" ;;
esac
echo "Next: murmur doctor"
