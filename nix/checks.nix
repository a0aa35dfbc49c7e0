# What `nix flake check` builds: of `just check` the format, the lints, the tests and the documentation of the code; and the
# modules. Scripts, dependencies and packages are checked by `just check` alone.
{ pkgs, packages }:
let
  inherit (pkgs) lib rustPlatform;

  # A run of cargo over the whole source. Nothing comes of it but that it went well.
  check =
    name: command:
    pkgs.stdenv.mkDerivation {
      name = "murmur-${name}";
      src = (import ./source.nix { inherit lib; }).whole;
      cargoDeps = rustPlatform.importCargoLock { lockFile = ../Cargo.lock; };
      nativeBuildInputs = [
        rustPlatform.cargoSetupHook
        pkgs.cargo
        pkgs.clippy
        pkgs.rustc
        pkgs.rustfmt
      ];
      buildPhase = ''
        export HOME=$TMPDIR
        ${command}
      '';
      installPhase = "touch $out";
    };
in
{
  fmt = check "fmt" "cargo fmt --check";
  clippy = check "clippy" "cargo clippy --locked --offline --all-targets -- --deny warnings";
  # Without those that run the documentation, or hold the recipes, the workflow and the modules against the code: README.md,
  # CONTRIBUTING.md, justfile and Nix's own files are not among the sources, so that an edit of them builds nothing.
  tests = check "tests" ''
    export MURMUR_TEST_PATH=${import ./programs.nix { inherit pkgs; }}
    cargo test --locked --offline -- --skip book:: --skip packaging::modules:: --skip packaging::workflow::
  '';
  docs = check "docs" ''
    RUSTDOCFLAGS="--deny warnings" cargo doc --locked --offline --no-deps --document-private-items
  '';
}
// import ../tests/nix/modules/checks.nix {
  inherit pkgs;
  inherit (packages) murmur;
}
