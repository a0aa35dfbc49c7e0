# The flake has the documented outputs, for every system.
# shellcheck shell=bash
wanted='{
  "apps": ["default", "derun", "fake-claude", "fake-model", "murmur"],
  "checks": ["clippy", "config-json", "docs", "fmt", "modules", "tests"],
  "devShells": ["default"],
  "packages": ["default", "fake-claude", "murmur"]
}'
for output in apps checks devShells packages; do
  for system in x86_64-linux aarch64-linux x86_64-darwin aarch64-darwin; do
    names=$(on_flake eval --json ".#$output.$system" --apply builtins.attrNames)
    should=$(jq --compact-output ".$output" <<<"$wanted")
    if [[ $output == packages && $system == *-linux ]]; then
      should='["default","fake-claude","image","murmur"]'
    fi
    if [[ $output == checks && $system == *-linux ]]; then
      should='["clippy","config-json","docs","fmt","modules","tests","unit"]'
    fi
    [[ $names == "$should" ]] || fail "$output.$system is $names, expected $should"
  done
done
overlaid=$(on_flake eval --json .#overlays.default --apply 'overlay: builtins.attrNames (builtins.functionArgs (final: overlay final { }))')
[[ $overlaid == '[]' ]] || fail "the overlay uses $overlaid"
