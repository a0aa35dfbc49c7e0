{
  description = "The parts of nixpkgs that the flake uses, made from the machine's own programs";

  outputs =
    { self }:
    let
      # nixpkgs' own lib, if tests/nix/run was given it.
      lib = if builtins.pathExists ./nixpkgs-lib then import ./nixpkgs-lib else import ./lib;
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
    in
    {
      inherit lib;
      legacyPackages = lib.genAttrs systems (
        system:
        import ./packages {
          inherit lib system;
          # This machine's programs and their locations, written by tests/nix/run.
          machine = import ./machine.nix;
        }
      );
    };
}
