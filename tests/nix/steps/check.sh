# $MURMUR_NIX_FEW_TESTS: not empty on a machine on which `just check` has passed without Nix.
# shellcheck shell=bash
if [[ -n ${MURMUR_NIX_FEW_TESTS:-} ]]; then
  on_flake flake check --no-build
  mapfile -t names < <(on_flake eval --json .#fewTests --apply builtins.attrNames | jq --raw-output '.[]')
  [[ " ${names[*]} " == *' tests '* ]] || fail "fewTests is ${names[*]}"
  on_flake build --print-build-logs --no-link "${names[@]/#/.#fewTests.}"
else
  on_flake flake check --print-build-logs
fi
