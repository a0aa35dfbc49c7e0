# The checks of the modules: what they generate from settings, and that murmur accepts it.
{ pkgs, murmur }:
let
  inherit (pkgs) lib;
  taken = import ./taken.nix { inherit pkgs murmur; };
  refused = import ./refused.nix;

  wrong = lib.concatLists (
    lib.mapAttrsToList (
      name: { got, wanted }:
      lib.concatMap (
        part:
        let
          is = builtins.toJSON got.${part};
          should = builtins.toJSON wanted.${part};
        in
        lib.optional (is != should) "${name}: ${part} is\n  ${is}\nand should be\n  ${should}"
      ) (lib.attrNames wanted)
    ) taken
  );

  evaluates =
    kind: settings:
    (builtins.tryEval (
      builtins.deepSeq (builtins.toJSON (import ./evaluate.nix { inherit pkgs murmur kind; } settings)) true
    )).success;
  passed = lib.filter (name: evaluates "nixos" refused.${name}.settings) (lib.attrNames refused);

  complaints = wrong ++ map (name: "${name}: is taken and should be refused") passed;

  workspaceOptions =
    (import ../../../nix/modules/workspace.nix {
      inherit lib;
      name = "any";
    }).options;
  every = import ./evaluate.nix {
    inherit pkgs murmur;
    kind = "nixos";
  } { workspaces = import ./every-key.nix; };
in
{
  modules =
    if complaints == [ ] then
      pkgs.runCommand "murmur-modules" { } "touch $out"
    else
      throw (lib.concatStringsSep "\n" complaints);

  # The options are the keys of config.json, and murmur accepts the generated file.
  config-json = pkgs.runCommand "murmur-config-json" {
    nativeBuildInputs = [
      murmur
      pkgs.jq
    ];
    inherit (every) prepare;
    keys = lib.attrNames workspaceOptions;
  } (builtins.readFile ./config-json.sh);
}
// lib.optionalAttrs pkgs.stdenv.hostPlatform.isLinux {
  # The units are what murmur itself would write; it prints systemd's only on Linux.
  unit = pkgs.runCommand "murmur-unit" {
    nativeBuildInputs = [
      murmur
      pkgs.gnused
      pkgs.jq
    ];
    ofMachine = builtins.toJSON (
      let
        inherit (every) service;
      in
      {
        Unit = {
          Description = service.description;
          Documentation = service.documentation;
        };
        Service = service.serviceConfig;
      }
    );
    ofUser = builtins.toJSON (import ./evaluate.nix {
      inherit pkgs murmur;
      kind = "home-manager";
    } { }).userService;
    passAsFile = [
      "ofMachine"
      "ofUser"
    ];
  } (builtins.readFile ./unit.sh);
}
