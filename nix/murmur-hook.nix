# The hook. It runs at every call of a tool, so on Linux it has nothing to load first: linked statically, at a fixed
# address.
{
  lib,
  stdenv,
  callPackage,
}:
callPackage ./build.nix { } {
  pname = "murmur-hook";
  programs = [ "murmur-hook" ];
  env = lib.optionalAttrs stdenv.hostPlatform.isStatic {
    RUSTFLAGS = "-C target-feature=+crt-static -C relocation-model=static";
  };
  meta = {
    description = "Answers the hooks of Claude Code for murmur";
    mainProgram = "murmur-hook";
  };
}
