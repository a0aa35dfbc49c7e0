# The PATH for tests (MURMUR_TEST_PATH): with Nix, their default folders contain nothing.
{ pkgs }:
pkgs.lib.makeBinPath [
  pkgs.bash
  pkgs.coreutils
  pkgs.diffutils
  pkgs.findutils
  pkgs.fish
  pkgs.git
  pkgs.gnugrep
  pkgs.gnused
  pkgs.htop
  pkgs.jq
  pkgs.less
  pkgs.perl
  pkgs.tmux
  pkgs.util-linux
  pkgs.vim
]
