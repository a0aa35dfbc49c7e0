# Everything that `just` needs, its dependencies included: nothing in it asks the network.
{
  mkShell,
  rustPlatform,
  writeTextDir,
  pkgs,
  cargo,
  cargo-deny,
  cargo-insta,
  clippy,
  fish,
  git,
  htop,
  jq,
  just,
  less,
  nixfmt-tree,
  rustc,
  rustfmt,
  shellcheck,
  tmux,
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
    nixfmt-tree
    rustc
    rustfmt
    shellcheck
    tmux
    vim
  ];
  env.RUST_SRC_PATH = "${rustPlatform.rustLibSrc}";
  env.MURMUR_TEST_PATH = import ./programs.nix { inherit pkgs; };
  # cargo reads the place of its sources from a file only, and writes locks beside it.
  shellHook = ''
    export CARGO_HOME=''${XDG_CACHE_HOME:-$HOME/.cache}/murmur-develop
    mkdir -p "$CARGO_HOME"
    ln -sfn ${config}/config.toml "$CARGO_HOME/config.toml"
  '';
}
