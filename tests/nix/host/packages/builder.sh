# Builds a derivation by the phases that it has, as nixpkgs' own builder does.
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

# Always in the same place, so that what cargo made there before is found again; new files, so that cargo sees which.
place=$machineTarget/source/$name
rm -rf "$place"
mkdir -p "$place"
cp -r --no-preserve=mode,timestamps "$src/." "$place"
chmod +x "$place"/.ci/run 2>/dev/null || true
cd "$place"

for hook in ${postUnpackHooks:-}; do
  "$hook"
done
eval "${buildPhase:?}"
eval "${installPhase:?}"
eval "${postInstall:-}"
