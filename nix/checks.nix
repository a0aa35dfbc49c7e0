# What `nix flake check` builds: each step of `just check`, and the modules.
{ pkgs, packages }:
let
  inherit (pkgs) lib rustPlatform;

  # What the tests run. They give the programs that they start a PATH of their own, /usr/bin and /bin, where a build finds
  # nothing: those folders become this one.
  programs = pkgs.symlinkJoin {
    name = "programs-of-the-tests";
    paths = [
      pkgs.bash
      pkgs.coreutils
      pkgs.findutils
      pkgs.fish
      pkgs.git
      pkgs.gnugrep
      pkgs.gnused
      pkgs.htop
      pkgs.less
      pkgs.perl
      pkgs.tmux
      pkgs.util-linux
      pkgs.vim
    ];
  };

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
  tests = check "tests" ''
    sed -i 's|/usr/bin|${programs}/bin|g; s|"/bin/cat"|"${programs}/bin/cat"|' \
      tests/it/{beat,captures,replay}.rs tests/it/{daemon/strangers,env/run,fake_claude/acted,run/needed}.rs
    cargo test --locked --offline
  '';
  docs = check "docs" ''
    RUSTDOCFLAGS="--deny warnings" cargo doc --locked --offline --no-deps --document-private-items
  '';
}
// import ../tests/nix/modules/checks.nix {
  inherit pkgs;
  inherit (packages) murmur;
}
