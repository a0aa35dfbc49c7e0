# Creates the archive for `docker load`.
# shellcheck shell=bash disable=SC2154
umask 022
work=$PWD
mkdir image top

# Creates a layer from the named paths, unchanged, and prints its digest.
layer() {
  local archive=$work/image/layer.tar digest
  tar --create --sort name --mtime @1 --file "$archive" "$@"
  digest=$(sha256sum "$archive" | cut -d ' ' -f 1)
  mkdir -p "$work/image/$digest"
  mv "$archive" "$work/image/$digest/layer.tar"
  echo "$digest"
}

# exportReferencesGraph contains: a path, an empty line, the number of its references, and these.
mapfile -t paths < <(grep --no-filename "^$NIX_STORE/" closure-* | sort -u)
layers=()
for path in "${paths[@]}"; do
  layers+=("$(layer --owner 0 --group 0 --numeric-owner --directory / "${path#/}")")
done

# The machine's own programs and their libraries aren't in the store. They are included unchanged.
for path in "${paths[@]}"; do
  find "$path" \( -type f -o -type l \) -path '*/bin/*' -print0
done | while IFS= read -r -d '' program; do
  real=$(readlink -f "$program")
  [[ $real == "$NIX_STORE"/* ]] || echo "$real"
  if [[ -L $program ]]; then readlink "$program" | grep '^/' || true; fi
  ldd "$real" 2>/dev/null | grep -o '/[^ ]*' || true
done | grep -v "^$NIX_STORE/" | sort -u >machine
mkdir machine-root
while IFS= read -r file; do
  install -D "$file" "machine-root$file"
done <machine
layers+=("$(layer --owner 0 --group 0 --numeric-owner --directory machine-root .)")

# The packages' contents, at the root.
for package in $contents; do
  (cd "$package" && find . -mindepth 1 \( -type f -o -type l \) -print0) | while IFS= read -r -d '' file; do
    mkdir -p "top/$(dirname "$file")"
    ln -s "$package/${file#./}" "top/${file#./}"
  done
done
(cd top && eval "$fakeRootCommands")
layers+=("$(layer --numeric-owner --directory top .)")

jq --null-input --slurpfile config "$configPath" '{
  architecture: "amd64", os: "linux", created: "1970-01-01T00:00:01Z", config: $config[0],
  rootfs: { type: "layers", diff_ids: ($ARGS.positional | map("sha256:" + .)) }
}' --args "${layers[@]}" >image/config.json
jq --null-input --arg reference "$reference" '[{
  Config: "config.json", RepoTags: [$reference], Layers: ($ARGS.positional | map(. + "/layer.tar"))
}]' --args "${layers[@]}" >image/manifest.json
tar --create --gzip --sort name --mtime @1 --owner 0 --group 0 --file "$out" --directory image .
