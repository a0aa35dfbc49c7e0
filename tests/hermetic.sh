#!/usr/bin/env bash
# `just test` with an empty environment and, if Linux allows it, without a network except loopback.
# tests/hermetic.sh [ARGUMENT...], which are those of `just test`. The remaining variables say where files are created and
# kept, where tests find programs, and what a compiler of Nix or of macOS links with.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kept=("HOME=$HOME" "PATH=$PATH")
for name in CARGO_TARGET_DIR CARGO_INCREMENTAL CARGO_PROFILE_DEV_DEBUG CARGO_HOME RUSTUP_HOME MURMUR_TEST_PATH DEVELOPER_DIR SDKROOT "${!NIX_@}"; do
  if [[ -n ${!name:-} ]]; then
    kept+=("$name=${!name}")
  fi
done
# All programs are built below, so tests needn't ask cargo, which may be compiling something else.
if [[ $# == 0 ]]; then
  kept+=("MURMUR_TEST_BUILT=1")
fi
empty=(env -i "${kept[@]}")

# Fetch what is needed now.
"${empty[@]}" just test --no-run

# Brings up loopback, which is down in a new network namespace, and runs the rest without privileges for it.
inside='
set -e
if command -v ip >/dev/null; then
  ip link set lo up
else
  python3 -c "
import fcntl, socket, struct
request = struct.pack(\"16sH14x\", b\"lo\", 0x41)  # IFF_UP, IFF_RUNNING
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, request)  # SIOCSIFFLAGS
"
fi
exec "$@"'
alone=()
if [[ $(id -u) == 0 ]]; then
  alone=(unshare --net bash -c "$inside" bash)
elif [[ $(uname) == Linux ]]; then
  # Keeps the user id, without root's privileges: some tests depend on them.
  alone=(unshare --user --map-current-user --keep-caps --net bash -c "$inside" bash setpriv --ambient-caps=-all --inh-caps=-all)
fi
why="only Linux has networks of one's own"
if [[ ${#alone[@]} == 0 ]] || ! why=$("${alone[@]}" true 2>&1); then
  echo "note: tests run with an empty environment, but with the network, since it cannot be isolated: $why" >&2
  alone=()
fi
exec ${alone[@]+"${alone[@]}"} "${empty[@]}" just test "$@"
