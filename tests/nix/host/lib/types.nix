# Types of options: description, check, and merging of definitions.
{ lib }:
let
  inherit (lib)
    concatMap
    isAttrs
    isBool
    isInt
    isList
    isString
    ;

  # One value, on which all definitions must agree.
  plain = description: check: {
    inherit description check;
    merge =
      place: values:
      if lib.all (value: value == lib.head values) values then
        lib.head values
      else
        throw "The option `${place}' has conflicting definition values";
  };

  types = {
    bool = plain "boolean" isBool;
    int = plain "signed integer" isInt;
    number = plain "signed integer or floating point number" (value: isInt value || builtins.isFloat value);
    str = plain "string" isString;
    package = plain "package" (value: isAttrs value && value.type or "" == "derivation");
    anything = plain "anything" (_: true);
    ints = {
      positive = plain "positive integer, meaning >0" (value: isInt value && value > 0);
      unsigned = plain "unsigned integer, meaning >=0" (value: isInt value && value >= 0);
      between =
        lowest: highest:
        plain "integer between ${toString lowest} and ${toString highest} (both inclusive)" (
          value: isInt value && lowest <= value && value <= highest
        );
    };

    enum = values: plain "one of ${builtins.toJSON values}" (value: lib.elem value values);
    strMatching =
      pattern:
      plain "string matching the pattern ${pattern}" (
        value: isString value && lib.match pattern value != null
      );
    addCheck = type: more: type // { check = value: type.check value && more value; };

    nullOr = type: {
      description = "null or ${type.description}";
      check = value: value == null || type.check value;
      merge =
        place: values: if lib.elem null values then null else type.merge place values;
    };
    either = first: second: {
      description = "${first.description} or ${second.description}";
      check = value: first.check value || second.check value;
      merge = place: values: (if lib.all first.check values then first else second).merge place values;
    };
    listOf = type: {
      description = "list of ${type.description}";
      check = isList;
      merge = place: values: map (value: checked "${place}.*" type [ value ]) (lib.concatLists values);
    };
    nonEmptyListOf =
      type:
      let
        list = types.listOf type;
      in
      list
      // {
        description = "non-empty ${list.description}";
        check = value: list.check value && value != [ ];
      };
    attrsOf = type: {
      description = "attribute set of ${type.description}";
      check = isAttrs;
      merge =
        place: values:
        let
          definitions =
            name: lib.settle (concatMap (value: lib.optional (value ? ${name}) value.${name}) values);
          names = lib.filter (name: definitions name != [ ]) (concatMap lib.attrNames values);
        in
        lib.genAttrs names (name: checked "${place}.${name}" type (definitions name));
    };
    submodule = module: {
      description = "(submodule)";
      check = value: isAttrs value || lib.isFunction value;
      merge =
        place: values:
        (lib.evalModules {
          modules = [ module ] ++ values;
          prefix = place;
        }).config;
    };
    inherit checked;
  };

  # Merges the definitions of the option at `place`.
  checked =
    place: type: values:
    if lib.all type.check values then
      type.merge place values
    else
      throw "A definition for option `${place}' is not of type `${type.description}'";
in
types
