# Builds a derivation in its phases, like nixpkgs' own builder.
# shellcheck shell=bash disable=SC2154
set -euo pipefail
export PATH=$machinePath
unset SSL_CERT_FILE
export HOME=/homeless-shelter

# shellcheck source=/dev/null
for input in ${nativeBuildInputs:-}; do
  PATH=$input/bin:$PATH
  if [[ -e $input/setup-hook ]]; then
    . "$input/setup-hook"
  fi
done

if [[ -n ${buildCommand:-} ]]; then
  eval "$buildCommand"
  exit
fi

# All in the same place, so that cargo's output for another derivation is found again. cargo compares the times of
# files, and in the store all are equal: an unchanged file keeps its time, and any other is new.
place=$machineTarget/source
mkdir -p "$place"
find "$place" ! -type f ! -type d -delete
sums() {
  (cd "$1" && find . -type f -print0 | sort --zero-terminated | xargs --null sha256sum --zero | sort --zero-terminated)
}
work=$PWD
sums "$place" >"$work/there"
sums "$src" >"$work/wanted"
# The name follows the 64 digits of the checksum and two spaces.
comm -z -23 "$work/there" "$work/wanted" | cut -z -c 67- | (cd "$place" && xargs --null --no-run-if-empty rm --force)
comm -z -13 "$work/there" "$work/wanted" | cut -z -c 67- |
  tar --create --directory "$src" --null --files-from - | tar --extract --touch --directory "$place"
find "$place" -mindepth 1 -type d -empty -delete
chmod -R u+w "$place"
cd "$place"

for hook in ${postUnpackHooks:-}; do
  "$hook"
done
eval "${buildPhase:?}"
eval "${installPhase:?}"
eval "${postInstall:-}"
