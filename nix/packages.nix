# The packages, for any nixpkgs.
{ pkgs }:
let
  inherit (pkgs) lib;
  inherit (pkgs.stdenv.hostPlatform) isLinux;

  murmur-hook = (if isLinux then pkgs.pkgsStatic else pkgs).callPackage ./murmur-hook.nix { };
  murmur = pkgs.callPackage ./murmur.nix { inherit murmur-hook; };
in
{
  inherit murmur;
  default = murmur;
  fake-claude = pkgs.callPackage ./fake-claude.nix { };
}
// lib.optionalAttrs isLinux {
  image = pkgs.callPackage ./image.nix { inherit murmur; };
}
