# Sets of files: a path, or functions that say whether a path is in the set (`has`) or a parent of one (`holds`).
{ lib }:
let
  inherit (lib) any isAttrs;
  within = folder: path: path == folder || lib.hasPrefix "${folder}/" path;

  has =
    set: path:
    if isAttrs set then
      set.has path
    else if builtins.pathExists set then
      within (toString set) path
    else
      throw "lib.fileset: ${toString set} does not exist";
  holds = set: path: if isAttrs set then set.holds path else within path (toString set);
in
{
  unions = sets: {
    has = path: any (set: has set path) sets;
    holds = path: any (set: holds set path) sets;
  };

  difference = positive: negative: {
    has = path: has positive path && !has negative path;
    holds = holds positive;
  };

  toSource =
    { root, fileset }:
    {
      outPath = builtins.path {
        name = "source";
        path = root;
        filter = path: kind: has fileset path || (kind == "directory" && holds fileset path);
      };
    };
}
