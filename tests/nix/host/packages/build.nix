# Derivations that are built by the machine's own bash with its own programs.
{
  lib,
  system,
  machine,
}:
let
  mkDerivation =
    arguments:
    let
      # Like nixpkgs: variables may be in `env`, and these two are not variables.
      variables = removeAttrs arguments [
        "env"
        "meta"
        "passthru"
      ];
      name = arguments.name or "${arguments.pname}-${arguments.version}";
    in
    derivation (
      variables
      // arguments.env or { }
      // {
        inherit name system;
        # `nix develop` depends on this variable.
        outputs = [ "out" ];
        builder = machine.bash;
        args = [ ./builder.sh ];
        machinePath = machine.path;
        machineTarget = machine.target;
        machineCargo = machine.cargo;
      }
    )
    // arguments.passthru or { }
    // {
      inherit name;
      meta = arguments.meta or { };
      version = arguments.version or "";
    };

  runCommand =
    name: variables: command:
    mkDerivation (
      variables
      // {
        inherit name;
        buildCommand = command;
      }
    );

  write =
    {
      name,
      text,
      place,
      mode,
    }:
    runCommand name
      {
        inherit text;
        passAsFile = [ "text" ];
      }
      ''
        install -D -m ${mode} "$textPath" "$out${place}"
      '';
in
{
  inherit mkDerivation runCommand;

  # A package of some of the machine's programs. Missing ones are left out.
  tool =
    name: programs:
    runCommand name { meta.mainProgram = name; } ''
      mkdir -p $out/bin
      for program in ${lib.escapeShellArgs programs}; do
        if found=$(type -P "$program"); then
          ln -s "$found" "$out/bin/$program"
        fi
      done
    '';

  writeText =
    name: text:
    write {
      inherit name text;
      place = "";
      mode = "0444";
    };
  writeTextDir =
    path: text:
    write {
      inherit text;
      name = builtins.baseNameOf path;
      place = "/${path}";
      mode = "0444";
    };
  writeShellScript =
    name: script:
    write {
      inherit name;
      text = "#!${machine.bash}\n${script}";
      place = "";
      mode = "0555";
    };

  # `nix develop` adopts its variables.
  mkShell =
    arguments:
    mkDerivation (
      removeAttrs arguments [ "packages" ]
      // {
        name = "nix-shell";
        PATH = "${lib.makeBinPath arguments.packages}:${machine.path}";
        buildCommand = "export -p >$out";
      }
    );
}
