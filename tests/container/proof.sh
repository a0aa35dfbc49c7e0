#!/usr/bin/env bash
# Proves on the files of an image, `tests/container/proof.sh [--with-agents] ROOT`, that murmur does what process 1 of a
# container must: it reaps, it ends in time when told to, and after a kill, missing lines are in the journal on restart.
# A copy of ROOT is the root of each container: read-only, with a volume at /data as the only writable place.
#
# `--with-agents`, if ROOT has a shell and a fake-claude as `claude`: also with agents and their children. Needs root.
set -euo pipefail
shopt -s inherit_errexit

parts=(bare)
if [[ ${1:-} == --with-agents ]]; then
  parts+=(agents)
  shift
fi
original=$(realpath "${1:?which folder has the files of the image}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/claims.sh
scratch=$(mktemp -d "${TMPDIR:-/tmp}/murmur-proof-XXXXXX")
# Its death ends everything in the container.
first=
container=
finish() {
  if [[ -n $container ]]; then
    # Without any output yet, nobody has looked for its process 1, which then dies with its parent.
    kill -KILL ${first:+"$first"} "$container" 2>/dev/null || true
  fi
  rm -rf "$scratch"
}
trap finish EXIT
trap "exit 143" HUP INT TERM

root=$scratch/root
volume=$scratch/volume
mkdir "$volume"
cp --archive "$original" "$root"
mkdir -p "$root/proc" "$root/dev" "$root/data"
mkfifo "$scratch/never"
exec 7<>"$scratch/never"

environment=(
  "$(type -P env)" --ignore-environment HOME=/data SHELL=/bin/sh PATH=/data/bin:/usr/local/bin:/usr/bin:/bin
)

# Becomes a container that runs a command as its process 1.
become() {
  # shellcheck disable=SC2016
  exec unshare --mount --pid --fork --kill-child bash -euc '
    root=$1 volume=$2
    shift 2
    mount --bind "$root" "$root"
    mount --bind "$volume" "$root/data"
    mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
    mknod -m 0666 "$root/dev/null" c 1 3
    mknod -m 0666 "$root/dev/random" c 1 8
    mknod -m 0666 "$root/dev/urandom" c 1 9
    mount -t proc proc "$root/proc"
    mount -o remount,bind,ro "$root"
    exec "$@"
  ' become "$root" "$volume" "${environment[@]}" "$(type -P chroot)" --userspec 1000:1000 "$root" "$@"
}

# Runs a command in its own container, to its end.
run() {
  (become "$@")
}

# Starts a container. Its output is at $said, its process 1 is $first.
begin() {
  first=
  exec {said}< <(become "$@" 2>&1)
  container=$!
}

# Reads its output until a line contains the text; that line is then in $line.
until_it_says() {
  local before=
  while IFS= read -r -t 30 line <&"$said"; do
    if [[ $line == *"$1"* ]]; then
      first=$(<"/proc/$container/task/$container/children")
      first=${first%% *}
      return
    fi
    before+=$line$'\n'
  done
  fail "the container did not print $1, but: $before"
}

begin_daemon() {
  begin /bin/murmur start --foreground
  until_it_says ' started (PID '
}

# Waits for the container's end, which must come in time; its exit code is in $code.
end() {
  local begun=$SECONDS
  code=0
  # shellcheck disable=SC2034
  wait "$container" || code=$?
  container=
  # Its PID may be reused from now on.
  first=
  exec {said}<&-
  [[ $((SECONDS - begun)) -le 10 ]] || fail "it took $((SECONDS - begun)) s to end"
}

# Runs a command in the running container, like `podman exec`: its parent is outside.
inside() {
  "${environment[@]}" "$(type -P nsenter)" --target "$first" --mount --pid --root --wd --setgid 1000 --setuid 1000 "$@"
}

# Waits until the container has no such process, not even a zombie.
reaped() {
  local look
  # The kernel doesn't announce that a process was reaped.
  for ((look = 0; look < 200; look++)); do
    [[ -e /proc/$first/root/proc/$1 ]] || return 0
    read -r -t 0.05 <&7 || true
  done
  fail "process $1 was not reaped: $(<"/proc/$first/root/proc/$1/stat")"
}

empty_volume() {
  find "$volume" -mindepth 1 -delete
  chown 1000:1000 "$volume"
  chmod 0700 "$volume"
}

# A workspace in which `claude` does what the JSON says, or replays the named run: then murmur itself is `claude`.
workspace() {
  mkdir -p "$volume/$1" "$volume/runs" "$volume/bin"
  echo "Look after it." >"$volume/$1/HEARTBEAT.md"
  cp -r fixtures/claude/{ok,api-429} "$volume/runs"
  if [[ $2 == \{* ]]; then
    echo "$2" >"$volume/$1/.fake-claude.json"
  else
    printf '/data/runs/%s' "$2" >"$volume/$1/.recorded-run"
    ln -sfn /bin/murmur "$volume/bin/claude"
  fi
  chown -R 1000:1000 "$volume"
}

# Registers it with the daemon.
due() {
  mkdir -m 0700 "$volume/.murmur"
  echo '{"workspaces":[{"path":"/data/site","interval":"1h","lastRun":null}]}' >"$volume/.murmur/config.json"
  chown -R 1000:1000 "$volume/.murmur"
}

journal_has() {
  local lines
  lines=$(grep -c . "$volume/.murmur/heartbeats.jsonl")
  [[ $lines == 1 ]] || fail "the journal has $lines lines: $(<"$volume/.murmur/heartbeats.jsonl")"
  has "$(<"$volume/.murmur/heartbeats.jsonl")" "$1"
}

no_daemon_is_left() {
  [[ ! -e $volume/.murmur/murmur.pid && ! -e $volume/.murmur/murmur.sock ]] || fail "the daemon left its files"
  [[ -z $(ls "$volume/.murmur/beats") ]] || fail "a beat is left unfinished"
}

for part in "${parts[@]}"; do
  # shellcheck source=/dev/null
  . "tests/container/proof/$part.sh"
done
