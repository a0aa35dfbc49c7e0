# Modules: options, definitions, and their evaluation.
{ lib }:
let
  inherit (lib)
    attrNames
    concatMap
    elem
    filter
    isAttrs
    isFunction
    optional
    unique
    ;
  inherit (import ./definitions.nix { inherit lib; })
    mkDefault
    mkIf
    mkMerge
    push
    settle
    ;

  # The modules that `module` consists of, each as { options, config }.
  collect =
    arguments: module:
    let
      read = if isFunction module || isAttrs module then module else import module;
      body = if isFunction read then read arguments else read;
      isShort = !(body ? config || body ? options);
      parts = [
        "disabledModules"
        "imports"
      ];
    in
    concatMap (collect arguments) (body.imports or [ ])
    ++ [
      {
        options = body.options or { };
        config = if isShort then removeAttrs body parts else body.config or { };
      }
    ];

  # The value of an option, or of a set of options, from all its definitions.
  evaluate =
    place: declarations: definitions:
    let
      options = filter (declaration: declaration._type or "" == "option") declarations;
      option = lib.foldl' (all: more: all // more) { } options;
      values = settle definitions;

      pushed = concatMap push definitions;
      known = unique (concatMap attrNames declarations);
      unknown = filter (name: !elem name known) (concatMap attrNames pushed);
      under = name: if place == "" then name else "${place}.${name}";
      of = name: concatMap (set: optional (set ? ${name}) set.${name});
    in
    if options != [ ] then
      if values != [ ] then
        lib.types.checked place option.type values
      else
        option.default or (throw "The option `${place}' is used but not defined.")
    else if unknown != [ ] then
      throw "The option `${under (lib.head unknown)}' does not exist."
    else
      lib.genAttrs known (name: evaluate (under name) (of name declarations) (of name pushed));
in
{
  inherit
    mkDefault
    mkIf
    mkMerge
    settle
    ;

  evalModules =
    {
      modules,
      specialArgs ? { },
      prefix ? "",
    }:
    let
      arguments = {
        inherit config lib;
        # In a submodule, its name where it is defined.
        name = lib.elemAt (lib.match "(.*\\.)?([^.]*)" prefix) 1;
      }
      // specialArgs;
      parts = concatMap (collect arguments) modules;
      config = evaluate prefix (map (part: part.options) parts) (map (part: part.config) parts);
    in
    {
      inherit config;
    };
}
