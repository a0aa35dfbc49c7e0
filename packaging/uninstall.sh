#!/usr/bin/env bash
# Removes what packaging/install.sh installed, and nothing else: `packaging/uninstall.sh [PREFIX]` (default: ~/.local).
# murmur's configuration and data, in ~/.murmur and elsewhere, stay.
#
# It refuses while the settings, service or daemon of the user, or of the caller of sudo, use what it would remove.
set -euo pipefail

# shellcheck source=packaging/prefix.sh
. "$(dirname "${BASH_SOURCE[0]}")/prefix.sh"

usage="usage: packaging/uninstall.sh [PREFIX]"
if [[ ${1:-} == --help ]]; then
  echo "$usage
PREFIX is ~/.local if none is given."
  exit 0
elif [[ $# -gt 1 || ${1:-} == -* ]]; then
  echo "$usage" >&2
  exit 2
fi
use_prefix "$@"
[[ -f $prefix/$list ]] || fail "murmur is not installed in '$prefix': $list not found; pass the PREFIX it was installed in"

# A text without the quoting that JSON, systemd, launchd and shells use in paths.
plain() {
  LC_ALL=C sed 's/&[a-z]*;//g' | LC_ALL=C tr -d $'\\\\"\'%$&<>'
}
named_in() {
  local program text
  [[ -f $1 ]] || return 1
  text=$(plain <"$1") || fail "cannot read '$1'; check its owner and mode"
  for program in "$place/bin/murmur" "$real/bin/murmur"; do
    [[ $text != *"$(plain <<<"$program")"* ]] || return 0
  done
  return 1
}
# unused_by HOME CLAUDE CONFIG DATA [AS]: fails if the user of these folders uses this murmur. AS says who must act.
unused_by() {
  local unit as=${5:-}
  # Otherwise Claude Code would keep calling a program that is gone; hooks with `|| exit 2` would block every call.
  ! named_in "$2/settings.json" || fail "'$2/settings.json' has hooks of this murmur; run \`murmur setup hooks --remove\`$as first"
  for unit in "$3/systemd/user/murmur.service" "$1/Library/LaunchAgents/murmur.plist"; do
    ! named_in "$unit" || fail "'$unit' starts this murmur; run \`murmur service uninstall\`$as first"
  done
  if [[ $(HOME=$1 MURMUR_DIR=$4 "$prefix/bin/murmur" status --json 2>/dev/null || true) == *'"daemon":{'* ]]; then
    fail "the daemon is running; run \`murmur stop\`$as first"
  fi
}
home_of() {
  if command -v getent >/dev/null 2>&1; then
    getent passwd "$1" | cut -d : -f 6
  else
    dscl . -read "/Users/$1" NFSHomeDirectory | sed 's/^NFSHomeDirectory: //'
  fi
}
if [[ -z ${DESTDIR:-} ]]; then
  real=$(cd "$prefix" && pwd -P)
  unused_by "$HOME" "${CLAUDE_CONFIG_DIR:-$HOME/.claude}" "${XDG_CONFIG_HOME:-$HOME/.config}" "${MURMUR_DIR:-}"
  if [[ -n ${SUDO_USER:-} ]]; then
    home=$(home_of "$SUDO_USER") || fail "cannot find the home of '$SUDO_USER', whose hooks may use this murmur; run this without sudo"
    unused_by "$home" "$home/.claude" "$home/.config" "" " as $SUDO_USER"
  fi
fi

count=0
for path in ${before[@]+"${before[@]}"}; do
  if [[ $path != */ ]]; then
    rm -f "$prefix/$path"
    count=$((count + 1))
  fi
done
# Deepest first; a folder that contains anything else stays.
folders=$(grep '/$' "$prefix/$list" | LC_ALL=C sort -r || true)
rm -f "$prefix/$list"
while IFS= read -r path; do
  if [[ -n $path ]]; then
    rmdir "$prefix/$path" 2>/dev/null || true
  fi
done <<<"$folders"
echo "Removed murmur from $prefix: $count files"
