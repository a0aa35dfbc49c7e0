# What `just check`, `install` and `dist` need, including the dependencies: nothing in it uses the network.
{
  lib,
  mkShell,
  rustPlatform,
  stdenv,
  writeTextDir,
  pkgs,
  cargo,
  cargo-deny,
  cargo-insta,
  clippy,
  fish,
  git,
  glibc,
  htop,
  iproute2,
  jq,
  just,
  less,
  mdbook,
  nixfmt-tree,
  rustc,
  rustfmt,
  shellcheck,
  tmux,
  util-linux,
  vim,
}:
let
  dependencies = rustPlatform.importCargoLock { lockFile = ../Cargo.lock; };
  config = writeTextDir "config.toml" ''
    [source.crates-io]
    replace-with = "vendored-sources"

    [source.vendored-sources]
    directory = "${dependencies}"
  '';
in
mkShell {
  packages = [
    cargo
    cargo-deny
    cargo-insta
    clippy
    fish
    git
    htop
    jq
    just
    less
    mdbook
    nixfmt-tree
    rustc
    rustfmt
    shellcheck
    tmux
    vim
  ]
  # A separate network for the tests.
  ++ lib.optionals stdenv.hostPlatform.isLinux [
    iproute2
    util-linux
  ];
  # Released programs are static. The other C library comes first, or programs that aren't static would use parts of this.
  buildInputs = lib.optionals stdenv.hostPlatform.isLinux [
    glibc.out
    glibc.static
  ];
  env.MURMUR_TEST_PATH = import ./programs.nix { inherit pkgs; };
  # cargo reads the location of its sources only from a file, and writes locks next to it.
  shellHook = ''
    export CARGO_HOME=''${XDG_CACHE_HOME:-$HOME/.cache}/murmur-develop
    mkdir -p "$CARGO_HOME"
    ln -sfn ${config}/config.toml "$CARGO_HOME/config.toml"
  '';
}
