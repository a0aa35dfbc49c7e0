# The programs for `nix run`.
{ packages }:
let
  app = package: program: description: {
    type = "app";
    program = "${package}/bin/${program}";
    meta = { inherit description; };
  };
  murmur = app packages.murmur "murmur" "Runs coding agents unattended, on a schedule";
in
{
  inherit murmur;
  default = murmur;
  derun = app packages.murmur "derun" "Runs any command as it is, and keeps every byte it writes";
  fake-claude = app packages.fake-claude "fake-claude" "Stands in for Claude Code in tests";
  fake-model = app packages.fake-claude "fake-model" "Stands in for the model behind Claude Code in tests";
}
