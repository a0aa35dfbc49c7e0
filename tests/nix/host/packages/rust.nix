# Part of nixpkgs' rustPlatform, with the machine's own cargo.
{
  lib,
  machine,
  mkDerivation,
  runCommand,
  pkgs,
}:
let
  # The sources of the dependencies, from the archives that cargo has fetched, checked against the lock file.
  importCargoLock =
    { lockFile }:
    let
      packages = lib.filter (package: package ? checksum) (lib.importTOML lockFile).package;
    in
    runCommand "cargo-vendor-dir"
      {
        crates = map (package: "${package.name}-${package.version} ${package.checksum}\n") packages;
        passAsFile = [ "crates" ];
      }
      ''
        mkdir $out
        while read -r crate checksum; do
          if [[ -z $crate ]]; then
            continue
          fi
          archive=${machine.archives}/$crate.crate
          if [[ ! -e $archive ]]; then
            echo "$archive is missing; run cargo fetch --locked" >&2
            exit 1
          fi
          sha256sum --check --quiet <<<"$checksum  $archive"
          tar --extract --gzip --no-same-owner --file "$archive" --directory $out
          printf '{"files":{},"package":"%s"}' "$checksum" >"$out/$crate/.cargo-checksum.json"
        done <"$cratesPath"
      '';

  cargoSetupHook = runCommand "cargo-setup-hook" { } ''
    mkdir $out
    cp ${./cargo-setup.sh} $out/setup-hook
  '';

  # `command` is what builds a program, given `cargoBuildFlags`.
  platform = command: {
    inherit cargoSetupHook importCargoLock;

    # A quick build: this tests what is built and where it goes, not its speed.
    buildRustPackage =
      arguments:
      mkDerivation (
        {
          buildPhase = ''
            flags=$cargoBuildFlags
            ${command}
          '';
          installPhase = ''
            flags="$cargoBuildFlags --message-format json"
            installed=$(${command} | jq --raw-output '.executable // empty')
            for program in $installed; do
              install -D --strip "$program" "$out/bin/''${program##*/}"
            done
          '';
        }
        // removeAttrs arguments [ "cargoLock" ]
        // {
          cargoDeps = importCargoLock arguments.cargoLock;
          nativeBuildInputs = [
            cargoSetupHook
            pkgs.cargo
            pkgs.rustc
            pkgs.jq
          ]
          ++ arguments.nativeBuildInputs or [ ];
        }
      );
  };
in
{
  rustPlatform = platform "cargo build --locked --offline $flags";
  # The program is linked with RUSTFLAGS. Its dependencies are those of every other program: how they are compiled makes no
  # difference to where it goes.
  static.rustPlatform = platform "env -u RUSTFLAGS cargo rustc --locked --offline $flags -- $RUSTFLAGS";
}
