{
  description = "Runs coding agents unattended, on a schedule, and tells honestly how it went";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs =
    { self, nixpkgs }:
    let
      inherit (nixpkgs) lib;
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      perSystem = make: lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});

      # The default of `package`: this flake's.
      withPackage =
        module:
        { lib, pkgs, ... }:
        {
          imports = [ module ];
          services.murmur.package = lib.mkDefault self.packages.${pkgs.stdenv.hostPlatform.system}.murmur;
        };
    in
    {
      packages = perSystem (pkgs: import ./nix/packages.nix { inherit pkgs; });

      apps = perSystem (
        pkgs: import ./nix/apps.nix { packages = self.packages.${pkgs.stdenv.hostPlatform.system}; }
      );

      devShells = perSystem (pkgs: {
        default = pkgs.callPackage ./nix/shell.nix { };
      });

      checks = perSystem (
        pkgs:
        import ./nix/checks.nix {
          inherit pkgs;
          packages = self.packages.${pkgs.stdenv.hostPlatform.system};
        }
      );

      # The checks for a machine on which `just check` has passed without Nix: all tests are compiled, and those run that
      # depend most on programs and folders; of lints and documentation, what shows that they work.
      legacyPackages = perSystem (pkgs: {
        fewTests = import ./nix/checks.nix {
          inherit pkgs;
          packages = self.packages.${pkgs.stdenv.hostPlatform.system};
          only = [
            "beat::"
            "run::"
          ];
        };
      });

      formatter = perSystem (pkgs: pkgs.nixfmt-tree);

      overlays.default = final: prev: {
        inherit (import ./nix/packages.nix { pkgs = final; }) murmur fake-claude;
      };

      nixosModules.default = withPackage ./nix/modules/nixos.nix;
      homeManagerModules.default = withPackage ./nix/modules/home-manager.nix;
    };
}
