#!/usr/bin/env bash
# Removes what packaging/install.sh installed, and nothing else: `packaging/uninstall.sh [PREFIX]`, from ~/.local without
# a PREFIX. What murmur was told and what it wrote, in ~/.murmur and elsewhere, stays.
set -euo pipefail

fail() {
  echo "error: $1" >&2
  exit 1
}

usage="usage: packaging/uninstall.sh [PREFIX]"
if [[ ${1:-} == --help ]]; then
  echo "$usage
PREFIX is ~/.local if none is given."
  exit 0
elif [[ $# -gt 1 || ${1:-} == -* ]]; then
  echo "$usage" >&2
  exit 2
fi
place=${1:-$HOME/.local}
[[ $place == /* ]] || place=$PWD/$place
prefix=${DESTDIR:-}$place
list=share/murmur/files
[[ -f $prefix/$list ]] || fail "murmur is not installed in '$prefix': there is no $list; name the PREFIX it was installed in"

# Nothing outside the PREFIX, whatever stands in the list.
while IFS= read -r path; do
  case /$path in
  //* | */../* | */..) fail "'$prefix/$list' names '$path', which is outside; remove the files by hand" ;;
  esac
done <"$prefix/$list"

if [[ -z ${DESTDIR:-} ]]; then
  real=$(cd "$prefix" && pwd -P)
  named_in() {
    [[ -f $1 ]] && grep -qF -e "$place/bin/murmur" -e "$real/bin/murmur" -- "$1"
  }
  # Hooks fail closed: without its program every call of a tool would be blocked.
  settings=${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json
  ! named_in "$settings" || fail "'$settings' has hooks of this murmur; run \`murmur setup hooks --remove\` first"
  for unit in "${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user/murmur.service" "$HOME/Library/LaunchAgents/murmur.plist"; do
    ! named_in "$unit" || fail "'$unit' starts this murmur; run \`murmur service uninstall\` first"
  done
  if [[ $("$prefix/bin/murmur" status --json 2>/dev/null || true) == *'"daemon":{'* ]]; then
    fail "the daemon runs; run \`murmur stop\` first"
  fi
fi

count=0
while IFS= read -r path; do
  if [[ $path != */ ]]; then
    rm -f "$prefix/$path"
    count=$((count + 1))
  fi
done <"$prefix/$list"
# The deepest first; one that has something else in it stays.
folders=$(grep '/$' "$prefix/$list" | LC_ALL=C sort -r || true)
rm -f "$prefix/$list"
while IFS= read -r path; do
  if [[ -n $path ]]; then
    rmdir "$prefix/$path" 2>/dev/null || true
  fi
done <<<"$folders"
echo "Removed murmur from $prefix: $count files"
