# What stands where Claude Code stands in tests, and what stands where its model stands.
{ callPackage }:
callPackage ./build.nix { } {
  pname = "fake-claude";
  programs = [
    "fake-claude"
    "fake-model"
  ];
  meta = {
    description = "Stands in for Claude Code and replays recorded runs of it";
    mainProgram = "fake-claude";
  };
}
