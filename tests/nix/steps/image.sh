# The image: its configuration, its layers, and its programs, run from the unpacked layers.
# shellcheck shell=bash disable=SC2154,SC2016
if [[ $(id -u) != 0 ]]; then
  echo "the image was not tested: only root can change the owner of its files" >&2
  return
fi
more=$(on_flake eval .#image --apply 'image:
  builtins.length (image.override { extraContents = [ image ]; }).contents - builtins.length image.contents')
is "$more" 1 "what an image with one more package has besides"

on_flake build .#image --out-link "$scratch/image"
mkdir "$scratch/archive" "$scratch/root"
tar --extract --file "$scratch/image" --directory "$scratch/archive"

manifest=$scratch/archive/manifest.json
config=$scratch/archive/$(jq --raw-output '.[0].Config' "$manifest")
has "$(jq --raw-output '.[0].RepoTags[0]' "$manifest")" "murmur:$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
# The configuration is that of the Containerfile's image, except for what nix/README.md lists.
configured=$(jq --sort-keys '.config | .Env |= sort | del(.Labels["org.opencontainers.image.version"])' "$config")
wanted=$(jq --sort-keys '
  .Env = (.Env | map(if startswith("PATH=") then "PATH=/bin" else . end) + ["SSL_CERT_FILE=/etc/ssl/certs/ca-bundle.crt"] | sort)
' tests/container/config.json)
is "$configured" "$wanted" "the image's configuration"

# Each layer has the right digest, and what changes most often is in the last ones.
mapfile -t layers < <(jq --raw-output '.[0].Layers[]' "$manifest")
[[ ${#layers[@]} -gt 3 ]] || fail "there are ${#layers[@]} layers"
digests=$(jq --raw-output '.rootfs.diff_ids[]' "$config")
for layer in "${layers[@]}"; do
  has "$digests" "sha256:$(sha256sum "$scratch/archive/$layer" | cut -d ' ' -f 1)"
  tar --extract --file "$scratch/archive/$layer" --directory "$scratch/root"
done
is "$(stat --format '%u:%g %a' "$scratch/root/data")" "1000:1000 700" "the owner and the mode of /data"

# Its user has a name, and a hook for a finished call prints nothing.
within() {
  chroot --userspec 1000:1000 "$scratch/root" /bin/env --ignore-environment HOME=/data PATH=/bin "$@"
}
is "$(within id)" "uid=1000(murmur) gid=1000(murmur) groups=1000(murmur)" "who runs"
is "$(within murmur-hook PostToolUse <<<'{}')" "" "the hook's output"

# What process 1 has to do, with an agent in place of Claude Code.
on_flake build .#fake-claude --out-link "$scratch/fake-claude"
install -D "$scratch/fake-claude/bin/fake-claude" "$scratch/root/usr/local/bin/claude"
tests/container/proof.sh --with-agents "$scratch/root"
