# Each invalid setting is refused with an error that names its option.
# shellcheck shell=bash disable=SC2154
refused=tests/nix/modules/refused.nix
mapfile -t names < <(nix eval --json --file "$refused" --apply builtins.attrNames | jq --raw-output '.[]')
[[ ${#names[@]} -gt 0 ]] || fail "$refused has no settings"

for name in "${names[@]}"; do
  says=$(nix eval --raw --file "$refused" --apply "all: all.\"$name\".says")
  if said=$(nix eval --impure --expr "
    let
      pkgs = (import $host/flake.nix).outputs { self = null; };
      evaluate = import $PWD/tests/nix/modules/evaluate.nix {
        pkgs = pkgs.legacyPackages.x86_64-linux;
        murmur = pkgs.legacyPackages.x86_64-linux.bash;
        kind = \"nixos\";
      };
    in
    builtins.toJSON (evaluate (import $PWD/$refused).\"$name\".settings)
  " 2>&1); then
    fail "$name: was accepted instead of refused"
  fi
  has "$said" "$says"
done
echo "${#names[@]} settings are refused by name" >&2
