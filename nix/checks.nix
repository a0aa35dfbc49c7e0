# What `nix flake check` builds: of `just check` the format, lints, tests and code documentation; and the
# modules. Only `just check` covers scripts, dependencies and packages. If `only` isn't empty, only those tests of tests/it
# run whose names contain one of it, and the lints and the documentation are those of one small crate.
{
  pkgs,
  packages,
  only ? [ ],
}:
let
  inherit (pkgs) lib rustPlatform;
  crates = lib.optionalString (only != [ ]) "--package murmur-sys";

  # Runs cargo over the whole source. Only its success counts.
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
  clippy = check "clippy" "cargo clippy --locked --offline ${crates} --all-targets -- --deny warnings";
  # Without tests that run the documentation, or compare recipes, workflow and modules with the code: README.md,
  # CONTRIBUTING.md, justfile and the Nix files are not among the sources, so that editing them rebuilds nothing.
  tests = check "tests" ''
    export MURMUR_TEST_PATH=${import ./programs.nix { inherit pkgs; }}
    ${lib.optionalString (only != [ ]) "cargo test --locked --offline --no-run"}
    cargo test --locked --offline ${lib.optionalString (only != [ ]) "--test it"} -- ${lib.escapeShellArgs only} \
      --skip book:: --skip packaging::modules:: --skip packaging::workflow::
  '';
  docs = check "docs" ''
    RUSTDOCFLAGS="--deny warnings" cargo doc --locked --offline ${crates} --no-deps --document-private-items
  '';
}
// import ../tests/nix/modules/checks.nix {
  inherit pkgs;
  inherit (packages) murmur;
}
