# The part of nixpkgs' lib that the flake uses.
let
  inherit (builtins) attrNames filter listToAttrs;
  modules = import ./modules.nix { inherit lib; };

  lib = {
    inherit (builtins)
      all
      any
      attrNames
      attrValues
      concatLists
      concatMap
      concatStringsSep
      elem
      elemAt
      filter
      foldl'
      groupBy
      head
      isAttrs
      isBool
      isFunction
      isInt
      isList
      isPath
      isString
      length
      listToAttrs
      mapAttrs
      match
      replaceStrings
      ;

    genAttrs =
      names: make:
      listToAttrs (
        map (name: {
          inherit name;
          value = make name;
        }) names
      );
    filterAttrs =
      keep: set:
      removeAttrs set (filter (name: !keep name set.${name}) (attrNames set));
    mapAttrsToList = make: set: map (name: make name set.${name}) (attrNames set);

    optional = condition: value: if condition then [ value ] else [ ];
    optionals = condition: values: if condition then values else [ ];
    optionalAttrs = condition: set: if condition then set else { };
    optionalString = condition: text: if condition then text else "";

    unique = lib.foldl' (known: value: if lib.elem value known then known else known ++ [ value ]) [ ];
    hasPrefix = prefix: text: builtins.substring 0 (builtins.stringLength prefix) text == prefix;
    escapeShellArg = text: "'${lib.replaceStrings [ "'" ] [ "'\\''" ] (toString text)}'";
    escapeShellArgs = lib.concatMapStringsSep " " lib.escapeShellArg;
    concatMapStringsSep =
      separator: make: values:
      lib.concatStringsSep separator (map make values);
    makeBinPath = lib.concatMapStringsSep ":" (package: "${package}/bin");
    getExe = package: "${package}/bin/${package.meta.mainProgram}";
    importTOML = file: builtins.fromTOML (builtins.readFile file);

    fileset = import ./fileset.nix { inherit lib; };
    types = import ./types.nix { inherit lib; };
    inherit (modules)
      evalModules
      mkDefault
      mkIf
      mkMerge
      settle
      ;

    mkOption = option: option // { _type = "option"; };
    mkEnableOption =
      what:
      lib.mkOption {
        type = lib.types.bool;
        default = false;
        description = "Whether to enable ${what}.";
      };
    literalExpression = text: {
      _type = "literalExpression";
      inherit text;
    };

    licenses = {
      mit.spdxId = "MIT";
      asl20.spdxId = "Apache-2.0";
    };
    platforms = {
      linux = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      darwin = [
        "x86_64-darwin"
        "aarch64-darwin"
      ];
    };
  };
in
lib
