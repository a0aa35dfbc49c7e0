# What both modules derive from their options.
{
  lib,
  pkgs,
  cfg,
}:
let
  inherit (lib) optional optionalAttrs;
  workspaces = lib.attrValues cfg.workspaces;
  option = workspace: key: "services.murmur.workspaces.${workspace}.${key}";
  given = lib.filterAttrs (_: value: value != null);
  entry =
    workspace:
    given (workspace // optionalAttrs ((workspace.retry or null) != null) { retry = given workspace.retry; });
in
rec {
  # The text of config.json, without the keys that murmur itself writes.
  configJson = builtins.toJSON (
    optionalAttrs (cfg.maxConcurrent != null) { inherit (cfg) maxConcurrent; }
    // optionalAttrs (cfg.reserve != null) { inherit (cfg) reserve; }
    // optionalAttrs (cfg.budget != null) { inherit (cfg) budget; }
    // {
      workspaces = map entry workspaces;
    }
  );

  # Puts it where murmur reads it. Its argument is murmur's data folder.
  prepare = pkgs.writeShellScript "murmur-prepare" ''
    PATH=${
      lib.makeBinPath [
        pkgs.coreutils
        pkgs.flock
        pkgs.jq
      ]
    }
    . ${./prepare.sh} ${pkgs.writeText "murmur-config.json" configJson} "$1"
  '';

  # What the type of a single option can't express.
  assertions =
    lib.concatLists (
      lib.mapAttrsToList (name: workspace: [
        {
          assertion = workspace.interval == null || workspace.cron == null;
          message = "${option name "interval"} is set together with ${option name "cron"}; keep one of them";
        }
        {
          assertion = workspace.tz == null || workspace.cron != null;
          message = "${option name "tz"} is set without ${option name "cron"}, and only cron has a zone; set both or none";
        }
        {
          assertion = !lib.hasPrefix builtins.storeDir workspace.path;
          message = "${option name "path"} is ${workspace.path}, in the Nix store, where agents cannot write; name a folder elsewhere";
        }
      ]) cfg.workspaces
    )
    ++ lib.mapAttrsToList (path: names: {
      assertion = lib.length names == 1;
      message = "${option (lib.concatStringsSep " and services.murmur.workspaces." names) "path"} are the same, ${path}; keep one of them";
    }) (lib.groupBy (name: cfg.workspaces.${name}.path) (lib.attrNames cfg.workspaces))
    ++ map (file: {
      assertion = !lib.hasPrefix builtins.storeDir file;
      message = "services.murmur.environmentFiles has ${file}, in the Nix store, where everyone can read it; keep it elsewhere";
    }) cfg.environmentFiles;

  # Both units have these two.
  description = "murmur: coding agents, unattended";
  documentation = [ "man:murmur(1)" ];

  # The same lines that `murmur service install --print` prints; a check compares them (tests/nix/modules/unit.sh).
  # Agents keep running when the daemon is replaced: it leaves them alone, and systemd stops only the daemon. So nothing
  # may be taken from them when it stops either, such as a private /tmp.
  service = {
    Type = "notify";
    NotifyAccess = "main";
    ExecStart = "${lib.getExe cfg.package} start --foreground";
    ExecStop = "${lib.getExe cfg.package} stop --leave-agents";
    KillMode = "process";
    TimeoutStopSec = 60;
    Restart = "on-failure";
    RestartSec = 5;
    RestartPreventExitStatus = 0;
    WatchdogSec = 120;
    OOMPolicy = "continue";
    LimitCORE = 0;
  }
  // optionalAttrs (cfg.environmentFiles != [ ]) { EnvironmentFile = cfg.environmentFiles; };

  # Restrictions that don't change the file system that the service sees. `murmur service install` has none,
  # since its users expect agents to be able to do whatever they can do themselves. Agents need to
  # create namespaces, to write code and run it, and to trace their children.
  hardening = optionalAttrs cfg.hardening {
    NoNewPrivileges = true;
    RestrictRealtime = true;
    RestrictSUIDSGID = true;
  };
}
