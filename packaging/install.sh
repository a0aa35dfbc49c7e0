#!/usr/bin/env bash
# Installs what packaging/layout.sh describes: `packaging/install.sh [--from FOLDER] [PREFIX]`, in ~/.local without a
# PREFIX, from the folder that this file is in without a FOLDER, as in a tarball. DESTDIR is put in front of the PREFIX.
#
# First everything is copied, then everything is renamed: a daemon or an agent that runs keeps the program it has, and
# where there is no room nothing has changed. PREFIX/share/murmur/files names what is there because of this, one path a
# line, with a `/` at the end of the folders that were made for it; packaging/uninstall.sh removes just that.
#
# Whatever is installed is of whoever installs it, and everybody may run and read it, whatever it was in the FOLDER.
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

# Whether a path is of an earlier installation.
is_ours() {
  [[ -f $prefix/$list ]] && grep -qxF -- "$1" "$prefix/$list"
}

paths=()
while IFS= read -r path; do
  paths+=("$path")
done < <(cd "$from" && find bin share \( -type f -o -type l \) ! -path "$list" ! -path bin/murmur ! -path bin/murmur-hook |
  LC_ALL=C sort)
# Each is renamed by itself. These two belong together, so they are the last, and nothing is renamed between them.
paths+=(bin/murmur-hook bin/murmur)

for path in "${paths[@]}"; do
  there=$prefix/$path
  if [[ -d $there ]]; then
    fail "'$there' is a folder; move it away"
  elif [[ -e $there || -L $there ]] && ! is_ours "$path"; then
    fail "'$there' is there already, and not from here; move it away, or choose another PREFIX"
  fi
done

new=.murmur-new-$$
trap 'for path in "${paths[@]}"; do rm -f "$prefix/${path%/*}/$new-${path##*/}"; done; rm -f "$prefix/$list$new"' EXIT

# Makes a folder and remembers which ones were not there.
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
  # Without -R the one of BSD follows links.
  cp -RP "$from/$path" "$copy"
  if [[ ! -L $copy ]]; then
    case $path in
    bin/*) chmod 755 "$copy" ;;
    *) chmod 644 "$copy" ;;
    esac
  fi
done
# Written before the first file is in its place: whatever happens now, uninstall.sh knows of every file.
printf '%s\n' ${folders[@]+"${folders[@]}"} "${paths[@]}" ${before[@]+"${before[@]}"} | LC_ALL=C sort -u >"$prefix/$list$new"
mv -f "$prefix/$list$new" "$prefix/$list"
for path in "${paths[@]}"; do
  mv -f "$prefix/${path%/*}/$new-${path##*/}" "$prefix/$path"
done

# What only the earlier one had.
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
  echo "What runs keeps the program it was started with; for the daemon: murmur restart"
fi
case :$PATH: in
*":$place/bin:"*) ;;
*) echo "$place/bin is not on your PATH; in your shell's profile: export PATH=\"$place/bin:\$PATH\"" ;;
esac
echo "Next: murmur doctor"
