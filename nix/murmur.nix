# murmur with the names it is called by, and with the hook that every call of a tool runs.
{
  lib,
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
    for name in mm derun murmur-host; do
      ln -s murmur $out/bin/$name
    done
  '';
  meta = {
    inherit (manifest) description;
    mainProgram = "murmur";
  };
}
