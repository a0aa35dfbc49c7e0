# Every check of the flake. $MURMUR_NIX_ONLY: names of tests; the check `tests` compiles all and runs these. For machines that
# have just run all of them without Nix.
# shellcheck shell=bash disable=SC2154
if [[ -z ${MURMUR_NIX_ONLY:-} ]]; then
  on_flake flake check --print-build-logs
  return
fi

on_flake flake check --no-build
checks=.#checks.x86_64-linux
only=$(jq --raw-input --compact-output 'split(" ")' <<<"$MURMUR_NIX_ONLY")
mapfile -t names < <(on_flake eval --json "$checks" --apply builtins.attrNames | jq --raw-output '.[]')
[[ ${#names[@]} -gt 5 ]] || fail "the flake has the checks ${names[*]}"
derivations=()
for name in "${names[@]}"; do
  checked='check: check'
  if [[ $name == tests ]]; then
    checked="check: check.override { only = builtins.fromJSON ''$only''; }"
  fi
  derivations+=("$(on_flake eval --raw "$checks.$name" --apply "check: ((${checked}) check).drvPath")")
done
nix build --print-build-logs --no-link "${derivations[@]}"
