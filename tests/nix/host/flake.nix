{
  description = "As much of nixpkgs as the flake asks for, made of the machine's own programs";

  outputs =
    { self }:
    let
      # nixpkgs' own, where tests/nix/run was given it.
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
          # What this machine has and where, which tests/nix/run writes.
          machine = import ./machine.nix;
        }
      );
    };
}
