# The PATH of what tests start (MURMUR_TEST_PATH): the folders in which they look otherwise have nothing in them with Nix.
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
  pkgs.less
  pkgs.perl
  pkgs.tmux
  pkgs.util-linux
  pkgs.vim
]
