# Valid settings, and what must be generated from them: everything, of each named part.
{ pkgs, murmur }:
let
  inherit (pkgs) lib;
  evaluate = kind: import ./evaluate.nix { inherit pkgs murmur kind; };
  # Home Manager, with systemd and with launchd.
  atHome =
    isLinux:
    import ./evaluate.nix {
      inherit murmur;
      kind = "home-manager";
      pkgs = pkgs // {
        stdenv = pkgs.stdenv // {
          hostPlatform = pkgs.stdenv.hostPlatform // {
            inherit isLinux;
            isDarwin = !isLinux;
          };
        };
      };
    };
  common =
    cfg:
    import ../../../nix/modules/common.nix {
      inherit lib pkgs;
      cfg = {
        maxConcurrent = null;
        reserve = null;
        budget = null;
        workspaces = { };
        environmentFiles = [ ];
        hardening = true;
        package = murmur;
      }
      // cfg;
    };
  inherit ((common { })) prepare;
  shown = import ./shown { inherit pkgs murmur; };

  site = {
    path = "/srv/my \"site\"";
    cron = "0 9 * * MON-FRI";
    tz = "Europe/Berlin";
  };
in
{
  "nothing but on" = {
    got = evaluate "nixos" { };
    wanted = {
      configJson = ''{"workspaces":[]}'';
      systemPackages = [ murmur ];
      folders = [ ];
      users.users = {
        me.home = "/home/me";
        homeless.home = "/var/empty";
        murmur = {
          isSystemUser = true;
          group = "murmur";
          home = "/var/lib/murmur";
        };
      };
      users.groups.murmur = { };
      service = {
        description = "murmur: coding agents, unattended";
        documentation = [ "man:murmur(1)" ];
        wantedBy = [ "multi-user.target" ];
        wants = [ "network-online.target" ];
        after = [ "network-online.target" ];
        path = [ pkgs.bash ];
        environment = {
          HOME = "/var/lib/murmur";
          MURMUR_DIR = "/var/lib/murmur";
        };
        serviceConfig =
          (common { }).service
          // (common { }).hardening
          // {
            ExecStartPre = "${prepare} /var/lib/murmur";
            User = "murmur";
            StateDirectory = "murmur";
            StateDirectoryMode = "0700";
            CapabilityBoundingSet = "";
            ProtectControlGroups = true;
            ProtectHome = "read-only";
            ProtectKernelModules = true;
            ProtectSystem = "strict";
            ReadWritePaths = [
              "\"-/var/lib/murmur\""
              "\"-/tmp\""
              "\"-/var/tmp\""
            ];
          };
      };
    };
  };

  "everything, for a user who is there" = {
    got =
      let
        all = evaluate "nixos" {
          user = "me";
          dataDir = "/home/me/.murmur";
          maxConcurrent = 2;
          extraPackages = [ pkgs.git ];
          environmentFiles = [ "/run/secrets/anthropic" ];
          writablePaths = [ "/srv/cache" ];
          workspaces = { inherit site; };
        };
      in
      all
      // {
        inherit (all.service) path environment;
        service = {
          inherit (all.service.serviceConfig)
            EnvironmentFile
            ExecStartPre
            ReadWritePaths
            User
            ;
          state = all.service.serviceConfig.StateDirectory or null;
        };
      };
    wanted = {
      configJson = ''{"maxConcurrent":2,"workspaces":[{"cron":"0 9 * * MON-FRI","name":"site","path":"/srv/my \"site\"","tz":"Europe/Berlin"}]}'';
      users = {
        users.me.home = "/home/me";
        users.homeless.home = "/var/empty";
        groups = { };
      };
      folders = [ ];
      path = [
        pkgs.bash
        pkgs.git
      ];
      environment = {
        HOME = "/home/me";
        MURMUR_DIR = "/home/me/.murmur";
      };
      service = {
        EnvironmentFile = [ "/run/secrets/anthropic" ];
        ExecStartPre = "${
          (common {
            maxConcurrent = 2;
            workspaces.site = site // {
              name = "site";
            };
          }).prepare
        } /home/me/.murmur";
        User = "me";
        ReadWritePaths = [
          "\"-/home/me/.murmur\""
          "\"-/home/me\""
          "\"-/srv/my \\\"site\\\"\""
          "\"-/srv/cache\""
          "\"-/tmp\""
          "\"-/var/tmp\""
        ];
        state = null;
      };
    };
  };

  "a folder that only root can make" = {
    got =
      let
        all = evaluate "nixos" { dataDir = "/srv/murmur"; };
      in
      all
      // {
        inherit (all.service) environment;
        inherit (all.users.users.murmur) home;
        state = all.service.serviceConfig.StateDirectory or null;
      };
    wanted = {
      folders = [ "d /srv/murmur 0700 murmur -" ];
      environment = {
        HOME = "/srv/murmur";
        MURMUR_DIR = "/srv/murmur";
      };
      home = "/srv/murmur";
      state = null;
    };
  };

  "every key of a workspace" = {
    got = evaluate "nixos" { workspaces = import ./every-key.nix; };
    wanted.configJson = builtins.readFile ./every-key.json;
  };

  "no hardening" = {
    got.service = (evaluate "nixos" { hardening = false; }).service.serviceConfig;
    wanted.service = (common { }).service // {
      ExecStartPre = "${prepare} /var/lib/murmur";
      User = "murmur";
      StateDirectory = "murmur";
      StateDirectoryMode = "0700";
    };
  };

  "what nix/README.md shows for NixOS" = {
    got =
      let
        all = shown.nixosConfigurations.machine;
      in
      all
      // {
        inherit (all.service) path;
      };
    wanted = {
      configJson = ''{"workspaces":[{"cron":"0 9 * * MON-FRI","name":"site","path":"/srv/site","permissions":{"deny":["Bash(curl *)"]},"tz":"Europe/Berlin"}]}'';
      path = [
        pkgs.bash
        pkgs.jq
        pkgs.git
      ];
    };
  };

  "what nix/README.md shows for Home Manager" = {
    got =
      let
        all = shown.homeConfigurations.me;
      in
      all
      // {
        inherit (all.userService.Service) EnvironmentFile Environment;
      };
    wanted = {
      configJson = ''{"workspaces":[{"interval":"4h","name":"notes","path":"/home/me/notes"}]}'';
      EnvironmentFile = [ "/home/me/.config/murmur/keys" ];
      Environment = [
        "MURMUR_DIR=/home/me/.murmur"
        "PATH=${
          lib.makeBinPath [
            pkgs.bash
            pkgs.coreutils
            pkgs.jq
            pkgs.git
          ]
        }"
      ];
    };
  };

  "off" = {
    got = evaluate "nixos" { enable = false; };
    wanted = {
      service = null;
      systemPackages = [ ];
      users = {
        users.me.home = "/home/me";
        users.homeless.home = "/var/empty";
        groups = { };
      };
    };
  };

  "a user's own, by systemd" = {
    got = atHome true { environmentFiles = [ "/run/secrets/anthropic" ]; };
    wanted = {
      packages = [ murmur ];
      launchd.agents = { };
      userService = {
        Unit = {
          Description = "murmur: coding agents, unattended";
          Documentation = [ "man:murmur(1)" ];
        };
        Install.WantedBy = [ "default.target" ];
        Service =
          (common { }).service
          // (common { }).hardening
          // {
            EnvironmentFile = [ "/run/secrets/anthropic" ];
            ExecStartPre = "${prepare} /home/me/.murmur";
            Environment = [
              "MURMUR_DIR=/home/me/.murmur"
              "PATH=${pkgs.bash}/bin:${pkgs.coreutils}/bin"
            ];
          };
      };
    };
  };

  "a user's own, by launchd" = {
    got =
      let
        all = atHome false { };
        agent = all.launchd.agents.murmur;
      in
      all
      // {
        launchd = agent // {
          config = removeAttrs agent.config [ "ProgramArguments" ];
        };
        words = builtins.length agent.config.ProgramArguments;
      };
    wanted = {
      words = 1;
      userService = null;
      launchd = {
        enable = true;
        config = {
          EnvironmentVariables = {
            MURMUR_DIR = "/home/me/.murmur";
            PATH = "${pkgs.bash}/bin:${pkgs.coreutils}/bin:/usr/bin:/bin:/usr/sbin:/sbin";
          };
          RunAtLoad = true;
          KeepAlive.SuccessfulExit = false;
          AbandonProcessGroup = true;
          ExitTimeOut = 60;
          WorkingDirectory = "/home/me";
          HardResourceLimits.Core = 0;
          ProcessType = "Background";
          StandardErrorPath = "/home/me/Library/Logs/murmur.log";
        };
      };
    };
  };
}
