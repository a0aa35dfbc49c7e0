# The configurations in nix/README.md, evaluated: the outputs of its flakes. They are repeated here because
# pure evaluation, as in `nix flake check`, can't import a text, nor a file made from one.
{ pkgs, murmur }:
let
  inherit (pkgs) lib;
  files = [
    ./nixos.nix
    ./home-manager.nix
  ];
  parts = lib.filter lib.isString (builtins.split "```nix\n" (builtins.readFile ../../../../nix/README.md));
  blocks = map (text: lib.head (builtins.split "```\n" text)) (builtins.tail parts);
  flakes = lib.filter (lib.hasPrefix "{\n  inputs.") blocks;

  # The agent itself is unfree, and not needed to evaluate a module.
  # The examples are for Linux, wherever they are checked.
  there = pkgs // {
    claude-code = pkgs.jq;
    stdenv = pkgs.stdenv // {
      hostPlatform = pkgs.stdenv.hostPlatform // {
        isLinux = true;
        isDarwin = false;
      };
    };
  };
  evaluate =
    kind: modules:
    import ../evaluate.nix {
      inherit murmur kind modules;
      pkgs = there;
    } { };
  inputs = {
    self = null;
    nixpkgs = {
      lib.nixosSystem = { modules }: evaluate "nixos" modules;
      legacyPackages.x86_64-linux = there;
    };
    home-manager.lib.homeManagerConfiguration = { pkgs, modules }: evaluate "home-manager" modules;
    # The modules are already there.
    murmur = {
      nixosModules.default = { };
      homeManagerModules.default = { };
    };
  };
in
if flakes != map builtins.readFile files then
  throw "nix/README.md shows other configurations than ${toString ./.}"
else
  lib.foldl' (
    all: file:
    let
      inherit (import file) outputs;
    in
    all // outputs (builtins.intersectAttrs (builtins.functionArgs outputs) inputs)
  ) { } files
