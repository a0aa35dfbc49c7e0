# The hook. It runs for every tool call, so on Linux it loads no libraries: it is statically linked, at a fixed
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
    description = "Answers Claude Code's hooks for murmur";
    mainProgram = "murmur-hook";
  };
}
