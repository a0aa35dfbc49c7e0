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
wanted='{
  "User": "1000:1000",
  "Entrypoint": ["/bin/murmur"],
  "Cmd": ["start", "--foreground"],
  "Volumes": { "/data": {} },
  "StopSignal": "SIGTERM",
  "Healthcheck": {
    "Test": ["CMD", "/bin/murmur", "status"],
    "Interval": 30000000000, "Timeout": 10000000000, "StartPeriod": 5000000000, "Retries": 3
  }
}'
is=$(jq --sort-keys '.config | {User, Entrypoint, Cmd, Volumes, StopSignal, Healthcheck}' "$config")
[[ $is == "$(jq --sort-keys . <<<"$wanted")" ]] || fail "the image's configuration is $is"

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
inside() {
  unshare --mount --pid --fork --kill-child bash -euc '
    root=$1 && shift
    mount --bind "$root" "$root"
    mount --bind "$root/data" "$root/data"
    mount --bind "$root/tmp" "$root/tmp"
    mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
    mknod -m 0666 "$root/dev/null" c 1 3
    mount -t proc proc "$root/proc"
    mount -o remount,bind,ro "$root"
    exec chroot --userspec 1000:1000 "$root" env --ignore-environment HOME=/data PATH=/bin SHELL=/bin/sh "$@"
  ' inside "$scratch/root" "$@"
}
has "$(inside /bin/murmur --version)" "murmur "
has "$(inside /bin/id)" "uid=1000(murmur) gid=1000(murmur)"
has "$(inside /bin/murmur status)" "murmur is not running"
has "$(inside /bin/murmur demo)" "no file and no process is left"
has "$(inside /bin/murmur-hook PostToolUse <<<'{}')" "{}"
if inside /bin/sh -c 'echo >/bin/written' 2>/dev/null; then
  fail "the root can be written to"
fi
