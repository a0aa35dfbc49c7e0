# Definitions with conditions or priorities, and merged ones.
{ lib }:
let
  inherit (lib) concatMap filter mapAttrs;
  kind = definition: definition._type or "";
in
rec {
  mkIf = condition: content: {
    _type = "if";
    inherit condition content;
  };
  mkMerge = contents: {
    _type = "merge";
    inherit contents;
  };
  mkDefault = content: {
    _type = "default";
    inherit content;
  };

  # The definitions in `definition` of its members: its own properties become theirs, so that no condition has to
  # be evaluated for their names.
  push =
    definition:
    let
      within = wrap: map (mapAttrs (_: wrap)) (push definition.content);
    in
    if kind definition == "if" then
      within (mkIf definition.condition)
    else if kind definition == "default" then
      within mkDefault
    else if kind definition == "merge" then
      concatMap push definition.contents
    else
      [ definition ];

  # The values of `definitions`, after priorities.
  settle =
    definitions:
    let
      plain =
        definition:
        if kind definition == "if" then
          if definition.condition then plain definition.content else [ ]
        else if kind definition == "merge" then
          concatMap plain definition.contents
        else
          [ definition ];
      all = concatMap plain definitions;
      isDefault = definition: kind definition == "default";
      strong = filter (definition: !isDefault definition) all;
    in
    if strong != [ ] then strong else settle' all;
  settle' = defaults: if defaults == [ ] then [ ] else settle (map (default: default.content) defaults);
}
