# The PREFIX that packaging/install.sh and packaging/uninstall.sh work in, and the list of what was installed there.
# shellcheck shell=bash

fail() {
  echo "error: $1" >&2
  exit 1
}

# use_prefix [PREFIX]: sets $place, where it is once DESTDIR is gone, $prefix, where it is now, $list, and ${before[@]}, what
# the list names. Nothing of that is outside the PREFIX, whatever stands in the list.
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
      //* | */../* | */..) fail "'$prefix/$list' names '$path', which is outside; take that line out" ;;
      esac
      before+=("$path")
    done <"$prefix/$list"
  fi
}
