# The image: its configuration, its layers, and its programs, run from what the layers come to.
# shellcheck shell=bash disable=SC2154,SC2016
if [[ $(id -u) != 0 ]]; then
  echo "the image was not tested: its files can be given to its user by root only" >&2
  return
fi
more=$(on_flake eval .#image --apply 'image:
  builtins.length (image.override { extraContents = [ image ]; }).contents - builtins.length image.contents')
[[ $more == 1 ]] || fail "an image with one more package has $more"

on_flake build .#image --out-link "$scratch/image"
mkdir "$scratch/archive" "$scratch/root"
tar --extract --file "$scratch/image" --directory "$scratch/archive"

manifest=$scratch/archive/manifest.json
config=$scratch/archive/$(jq --raw-output '.[0].Config' "$manifest")
has "$(jq --raw-output '.[0].RepoTags[0]' "$manifest")" "murmur:$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
# The configuration is that of the Containerfile's image, but for what docs/nix.md names.
is=$(jq --sort-keys '.config | .Env |= sort | del(.Labels["org.opencontainers.image.version"])' "$config")
wanted=$(jq --sort-keys '
  .Env = (.Env | map(if startswith("PATH=") then "PATH=/bin" else . end) + ["SSL_CERT_FILE=/etc/ssl/certs/ca-bundle.crt"] | sort)
' tests/container/config.json)
[[ $is == "$wanted" ]] || fail "the image's configuration is $is
and should be $wanted"

# Each layer is what its digest says, and what changes most often is in the last ones.
mapfile -t layers < <(jq --raw-output '.[0].Layers[]' "$manifest")
[[ ${#layers[@]} -gt 3 ]] || fail "there are ${#layers[@]} layers"
digests=$(jq --raw-output '.rootfs.diff_ids[]' "$config")
for layer in "${layers[@]}"; do
  has "$digests" "sha256:$(sha256sum "$scratch/archive/$layer" | cut -d ' ' -f 1)"
  tar --extract --file "$scratch/archive/$layer" --directory "$scratch/root"
done
owner=$(stat --format '%u:%g %a' "$scratch/root/data")
[[ $owner == "1000:1000 700" ]] || fail "/data is $owner"

# A root that nobody can write to but for the volume and /tmp, with what is run there as process 1.
mkdir -p "$scratch/root/proc" "$scratch/root/dev"
become() {
  exec unshare --mount --pid --fork --kill-child bash -euc '
    root=$1 && shift
    mount --bind "$root" "$root"
    mount --bind "$root/data" "$root/data"
    mount --bind "$root/tmp" "$root/tmp"
    mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
    mknod -m 0666 "$root/dev/null" c 1 3
    mount -t proc proc "$root/proc"
    mount -o remount,bind,ro "$root"
    exec chroot --userspec 1000:1000 "$root" env --ignore-environment HOME=/data PATH=/bin SHELL=/bin/sh "$@"
  ' become "$scratch/root" "$@"
}
inside() {
  (become "$@")
}
has "$(inside /bin/murmur --version)" "murmur "
has "$(inside /bin/id)" "uid=1000(murmur) gid=1000(murmur)"
has "$(inside /bin/murmur demo)" "no file and no process is left"
# The hook of what was done has nothing to say.
said=$(inside /bin/murmur-hook PostToolUse <<<'{}')
[[ -z $said ]] || fail "the hook says $said"
if inside /bin/sh -c 'echo >/bin/written' 2>/dev/null; then
  fail "the root can be written to"
fi

# As process 1, with a beat that goes on: its agent has left a process of which the parent is gone, and which has ended.
data=$scratch/root/data
mapfile -t healthcheck < <(jq --raw-output '.config.Healthcheck.Test[1:][]' "$config")
mkdir -p "$data/bin" "$data/site" "$data/.murmur"
echo "Look after it." >"$data/site/HEARTBEAT.md"
# shellcheck disable=SC2016
echo 'PATH="$HOME/bin:$PATH"' >"$data/.profile"
echo '{ "workspaces": [{ "path": "/data/site", "interval": "1h" }] }' >"$data/.murmur/config.json"
cat >"$data/bin/claude" <<'EOF'
#!/bin/sh
(sh -c 'echo $$ >/data/began' &)
exec sleep 1000
EOF
mkfifo "$data/began" "$scratch/said"
chmod 0755 "$data/bin/claude"
chmod 0700 "$data/.murmur"
chmod 0600 "$data/.murmur/config.json"
chown -R 1000:1000 "$data"

if said=$(inside "${healthcheck[@]}"); then
  fail "without a daemon, all is well for ${healthcheck[*]}: $said"
fi
has "$said" "murmur is not running"

# Both ends of each, so that none waits for the other to be opened.
exec 6<>"$scratch/said" 7<>"$data/began"
# With job control, what is begun by & ignores no signal.
set -m
become /bin/murmur start --foreground 2>"$scratch/said" 6>&- 7>&- &
outer=$!
set +m
trap 'kill -KILL "$outer" 2>/dev/null' EXIT
read -r -t 60 -u 6 line || fail "the daemon of the image says nothing"
has "$line" " started (PID "
read -r -t 60 -u 7 orphan || fail "no agent began"
daemon=$(</proc/$outer/task/$outer/children)
daemon=${daemon% }

# As `docker exec` does it.
within() {
  nsenter --target "$daemon" --mount --pid --root --wd=/ --setgid 1000 --setuid 1000 \
    env --ignore-environment HOME=/data PATH=/bin SHELL=/bin/sh "$@"
}
has "$(within "${healthcheck[@]}")" " is running (PID "
# Each question to murmur is time for the dead to be reaped.
SECONDS=0
processes=/proc/$daemon/root/proc
while [[ -e $processes/$orphan ]]; do
  [[ $SECONDS -lt 10 ]] || fail "nobody reaps $(cat "$processes/$orphan/stat")"
  within "${healthcheck[@]}" >/dev/null
done

# It ends in time, and well, and the beat has its line.
SECONDS=0
kill -TERM "$daemon"
code=0
wait "$outer" || code=$?
trap - EXIT
[[ $code == 0 ]] || fail "process 1 ends with $code"
[[ $SECONDS -lt 10 ]] || fail "process 1 needs $SECONDS s to end"
line=$(jq --compact-output '[.workspace, .outcome, .error]' "$data/.murmur/heartbeats.jsonl")
[[ $line == '["/data/site","error","stopped after '*'s, before it was done"]' ]] || fail "the journal says $line"
[[ -z $(ls "$data/.murmur/beats") ]] || fail "a beat is not over: $(ls "$data/.murmur/beats")"
