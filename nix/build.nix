# Builds some of the programs. The arguments are those of buildRustPackage, with `programs` instead of flags.
{ lib, rustPlatform }:
{ programs, meta, ... }@arguments:
let
  manifest = (lib.importTOML ../Cargo.toml).workspace.package;
in
rustPlatform.buildRustPackage (
  {
    inherit (manifest) version;
    src = (import ./source.nix { inherit lib; }).program;
    cargoLock.lockFile = ../Cargo.lock;
    cargoBuildFlags = lib.concatMap (program: [
      "--bin"
      program
    ]) programs;
    # The tests are a separate check, so that editing them rebuilds no program.
    doCheck = false;
    meta = {
      license = [
        lib.licenses.mit
        lib.licenses.asl20
      ];
      platforms = lib.platforms.linux ++ lib.platforms.darwin;
    }
    // meta;
  }
  // removeAttrs arguments [
    "programs"
    "meta"
  ]
)
