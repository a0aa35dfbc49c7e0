# services.murmur for NixOS: a system-wide daemon with its own user.
{
  config,
  lib,
  pkgs,
  ...
}:
let
  inherit (lib) mkOption types;
  cfg = config.services.murmur;
  common = import ./common.nix { inherit lib pkgs cfg; };

  own = "murmur";
  state = "/var/lib/murmur";
  home = config.users.users.${cfg.user}.home or cfg.dataDir;
  # Whether systemd creates the folder with the service, and whether its user could create it there.
  isState = cfg.dataDir == state;
  isAtHome = lib.hasPrefix "${home}/" cfg.dataDir;

  # A path in a systemd list. A missing one doesn't prevent the start: its own beat reports it.
  listed = path: "\"-${lib.replaceStrings [ "\\" "\"" "%" ] [ "\\\\" "\\\"" "%%" ] path}\"";
  writable = [
    cfg.dataDir
    home
  ]
  ++ map (workspace: workspace.path) (lib.attrValues cfg.workspaces)
  ++ cfg.writablePaths;
in
{
  imports = [ ./options.nix ];
  # Mumble's server used to be called murmur, too.
  disabledModules = [ "services/networking/murmur.nix" ];

  options.services.murmur = {
    user = mkOption {
      type = types.strMatching "[A-Za-z_][A-Za-z0-9_-]*";
      default = own;
      description = "The user that runs the daemon and its agents. `murmur` is created; any other user must exist and have a home.";
    };

    dataDir = mkOption {
      type = types.strMatching "/[A-Za-z0-9_./-]*";
      default = state;
      description = "The data folder (MURMUR_DIR).";
    };

    writablePaths = mkOption {
      type = types.listOf (types.strMatching "/[^[:cntrl:]]*");
      default = [ ];
      description = "Additional paths that agents may write to with hardening on; everything except these, the workspaces and the home is read-only.";
    };
  };

  config = lib.mkIf cfg.enable {
    assertions = common.assertions ++ [
      {
        assertion = config.users.users ? ${cfg.user};
        message = "services.murmur.user is ${cfg.user}, which is not in users.users; add it there";
      }
      {
        # The fallback that NixOS gives users without their own.
        assertion = home != "/var/empty";
        message = "services.murmur.user is ${cfg.user}, whose home is /var/empty, where nobody can write; set users.users.${cfg.user}.home";
      }
    ];
    environment.systemPackages = [ cfg.package ];

    users = lib.mkIf (cfg.user == own) {
      users.${own} = {
        isSystemUser = true;
        group = own;
        home = cfg.dataDir;
      };
      groups.${own} = { };
    };

    systemd.tmpfiles.rules = lib.optional (
      !isState && !isAtHome
    ) "d ${cfg.dataDir} 0700 ${cfg.user} -";

    systemd.services.murmur = {
      inherit (common) description documentation;
      wantedBy = [ "multi-user.target" ];
      wants = [ "network-online.target" ];
      after = [ "network-online.target" ];
      path = [ pkgs.bash ] ++ cfg.extraPackages;
      environment = {
        HOME = home;
        MURMUR_DIR = cfg.dataDir;
      };
      serviceConfig =
        common.service
        // {
          ExecStartPre = "${common.prepare} ${cfg.dataDir}";
          User = cfg.user;
        }
        // lib.optionalAttrs isState {
          StateDirectory = "murmur";
          StateDirectoryMode = "0700";
        }
        // common.hardening
        // lib.optionalAttrs cfg.hardening {
          CapabilityBoundingSet = "";
          ProtectControlGroups = true;
          ProtectHome = "read-only";
          ProtectKernelModules = true;
          ProtectSystem = "strict";
          ReadWritePaths = map listed (
            lib.unique (
              writable
              ++ [
                "/tmp"
                "/var/tmp"
              ]
            )
          );
        };
    };
  };
}
