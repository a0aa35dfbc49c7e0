# The PREFIX for packaging/install.sh and packaging/uninstall.sh, and the list of what was installed there.
# shellcheck shell=bash

fail() {
  echo "error: $1" >&2
  exit 1
}

# use_prefix [PREFIX]: sets $place, its final path without DESTDIR, $prefix, its current path, $list, and ${before[@]},
# the paths in the list. None of them is outside the PREFIX, whatever the list contains.
# shellcheck disable=SC2034
use_prefix() {
  local path
  place=${1:-$HOME/.local}
  [[ $place == /* ]] || place=$PWD/$place
  prefix=${DESTDIR:-}$place
  list=share/murmur/files
  before=()
  if [[ -f $prefix/$list ]]; then
    while IFS= read -r path; do
      case /$path in
      //* | */../* | */..) fail "'$prefix/$list' names '$path', which is outside '$prefix'; remove that line" ;;
      esac
      before+=("$path")
    done <"$prefix/$list"
  fi
}
