# murmur with its links, and with the hook that runs for every tool call.
{
  lib,
  stdenv,
  callPackage,
  murmur-hook,
}:
let
  manifest = (lib.importTOML ../Cargo.toml).package;
in
callPackage ./build.nix { } {
  pname = "murmur";
  programs = [ "murmur" ];
  postInstall = ''
    ln -s ${murmur-hook}/bin/murmur-hook $out/bin/murmur-hook
  ''
  + (
    if stdenv.buildPlatform.canExecute stdenv.hostPlatform then
      "bash ${../packaging/layout.sh} $out"
    else
      # The rest is printed by murmur itself, which can't run here.
      ''
        for name in mm derun murmur-host; do
          ln -s murmur $out/bin/$name
        done
      ''
  );
  meta = {
    inherit (manifest) description;
    mainProgram = "murmur";
  };
}
