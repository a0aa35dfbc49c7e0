# Replacements for Claude Code and its model in tests.
{ callPackage }:
callPackage ./build.nix { } {
  pname = "fake-claude";
  programs = [
    "fake-claude"
    "fake-model"
  ];
  meta = {
    description = "Replaces Claude Code in tests and replays recorded runs";
    mainProgram = "fake-claude";
  };
}
