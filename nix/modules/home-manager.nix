# services.murmur for Home Manager: a daemon for one user, under systemd or launchd.
{
  config,
  lib,
  pkgs,
  ...
}:
let
  inherit (lib) mkOption types;
  inherit (pkgs.stdenv.hostPlatform) isDarwin isLinux;
  cfg = config.services.murmur;
  common = import ./common.nix { inherit lib pkgs cfg; };
  path = lib.makeBinPath (
    [
      pkgs.bash
      pkgs.coreutils
    ]
    ++ cfg.extraPackages
  );

  # launchd reads no environment files and runs nothing before the program.
  launch = pkgs.writeShellScript "murmur-launch" ''
    set -euo pipefail
    for file in ${lib.escapeShellArgs cfg.environmentFiles}; do
      while IFS= read -r line || [[ -n $line ]]; do
        if [[ $line =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; then
          export "$line"
        fi
      done <"$file"
    done
    ${common.prepare} ${cfg.dataDir}
    exec ${lib.getExe cfg.package} start --foreground
  '';
in
{
  imports = [ ./options.nix ];

  options.services.murmur.dataDir = mkOption {
    type = types.strMatching "/[A-Za-z0-9_./-]*";
    default = "${config.home.homeDirectory}/.murmur";
    defaultText = lib.literalExpression ''"''${config.home.homeDirectory}/.murmur"'';
    description = "The data folder (MURMUR_DIR).";
  };

  config = lib.mkIf cfg.enable {
    inherit (common) assertions;
    home.packages = [ cfg.package ];

    systemd.user.services.murmur = lib.mkIf isLinux {
      Unit.Description = common.description;
      Unit.Documentation = common.documentation;
      Install.WantedBy = [ "default.target" ];
      Service =
        common.service
        // {
          ExecStartPre = "${common.prepare} ${cfg.dataDir}";
          Environment = [
            "MURMUR_DIR=${cfg.dataDir}"
            "PATH=${path}"
          ];
        }
        // common.hardening;
    };

    launchd.agents.murmur = lib.mkIf isDarwin {
      enable = true;
      config = {
        ProgramArguments = [ "${launch}" ];
        EnvironmentVariables = {
          MURMUR_DIR = cfg.dataDir;
          PATH = "${path}:/usr/bin:/bin:/usr/sbin:/sbin";
        };
        RunAtLoad = true;
        KeepAlive.SuccessfulExit = false;
        # Hosted agents keep running. Beats don't: launchd stops the daemon with SIGTERM, which ends them.
        AbandonProcessGroup = true;
        ExitTimeOut = 60;
        ProcessType = "Background";
        WorkingDirectory = config.home.homeDirectory;
        HardResourceLimits.Core = 0;
        # launchd opens it before there is a data folder.
        StandardErrorPath = "${config.home.homeDirectory}/Library/Logs/murmur.log";
      };
    };
  };
}
