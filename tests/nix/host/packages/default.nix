# The packages: the machine's own programs, and the functions that build with them.
{
  lib,
  system,
  machine,
}:
let
  platform = {
    inherit system;
    isLinux = builtins.elem system lib.platforms.linux;
    isDarwin = builtins.elem system lib.platforms.darwin;
    isStatic = false;
  };

  build = import ./build.nix { inherit lib system machine; };
  rust = import ./rust.nix {
    inherit lib machine pkgs;
    inherit (build) mkDerivation runCommand;
  };
  tool = name: programs: build.tool name programs;
  words = text: lib.filter (word: lib.isString word && word != "") (builtins.split "[ \n]+" text);
  tools = names: lib.genAttrs names (name: tool name [ name ]);

  callPackage =
    file: given:
    let
      function = if lib.isFunction file then file else import file;
      wanted = builtins.functionArgs function;
      make = more: function (builtins.intersectAttrs wanted pkgs // given // more);
      made = make { };
    in
    # Like nixpkgs: results can be overridden, so a set has one attribute more.
    if lib.isAttrs made then made // { override = make; } else made;

  pkgs =
    tools [
      "cargo-deny"
      "cargo-insta"
      "fish"
      "flock"
      "git"
      "htop"
      "jq"
      "just"
      "less"
      "mdbook"
      "nixfmt-tree"
      "perl"
      "shellcheck"
      "tmux"
      "vim"
    ]
    // {
      inherit lib pkgs callPackage;
      inherit (build)
        mkShell
        runCommand
        writeShellScript
        writeText
        writeTextDir
        ;
      inherit (rust) rustPlatform;
      stdenv = {
        inherit (build) mkDerivation;
        hostPlatform = platform;
        # Nothing is built here for another machine.
        buildPlatform.canExecute = _: true;
      };
      pkgsStatic = pkgs // {
        inherit (rust.static) rustPlatform;
        stdenv = pkgs.stdenv // {
          hostPlatform = platform // {
            isStatic = true;
          };
        };
        callPackage =
          file: given:
          callPackage file (builtins.intersectAttrs (builtins.functionArgs (import file)) pkgs.pkgsStatic // given);
      };
      dockerTools = import ./docker.nix { inherit (build) mkDerivation; };

      bash = tool "bash" [
        "bash"
        "sh"
      ];
      bashInteractive = pkgs.bash;
      cacert = build.runCommand "cacert" { } ''
        mkdir -p $out/etc/ssl/certs
        cp ${machine.certificates} $out/etc/ssl/certs/ca-bundle.crt
      '';
      cargo = tool "cargo" [ "cargo" ];
      clippy = tool "clippy" [
        "cargo-clippy"
        "clippy-driver"
      ];
      coreutils = tool "coreutils" (
        words "
          arch b2sum base32 base64 basename basenc cat chcon chgrp chmod chown cksum comm cp csplit cut date
          dd df dir dircolors dirname du echo env expand expr factor false fmt fold groups head hostid id
          install join link ln logname ls md5sum mkdir mkfifo mknod mktemp mv nice nl nohup nproc numfmt od
          paste pathchk pinky pr printenv printf ptx pwd readlink realpath rm rmdir runcon seq sha1sum
          sha224sum sha256sum sha384sum sha512sum shred shuf sleep sort split stat stdbuf stty sum sync tac
          tail tee test timeout touch tr true truncate tsort tty uname unexpand uniq unlink users vdir wc who
          whoami yes
        "
      );
      diffutils = tool "diffutils" [
        "cmp"
        "diff"
      ];
      findutils = tool "findutils" [
        "find"
        "xargs"
      ];
      # Nothing is linked with it: the machine's own compiler has its own.
      glibc = tool "glibc" [ ] // {
        static = tool "glibc-static" [ ];
      };
      gnugrep = tool "gnugrep" [ "grep" ];
      gnused = tool "gnused" [ "sed" ];
      iproute2 = tool "iproute2" [ "ip" ];
      util-linux = tool "util-linux" [
        "kill"
        "mount"
        "nsenter"
        "script"
        "setpriv"
        "setsid"
        "unshare"
      ];
      rustc = tool "rustc" [
        "rustc"
        "rustdoc"
      ];
      rustfmt = tool "rustfmt" [
        "cargo-fmt"
        "rustfmt"
      ];
    };
in
pkgs
