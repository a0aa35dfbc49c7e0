# What a module generates from settings: the parts of the system's configuration that it defines, or its errors.
{
  pkgs,
  murmur,
  # "nixos" or "home-manager".
  kind,
  # Further configuration.
  modules ? [ ],
}:
settings:
let
  inherit (pkgs) lib;
  inherit (lib) mkOption types;

  free = mkOption {
    type = types.attrsOf types.anything;
    default = { };
  };
  several = mkOption {
    type = types.listOf types.anything;
    default = [ ];
  };

  # The options of the surrounding system, which accept everything.
  system = {
    options = {
      assertions = several;
      environment.systemPackages = several;
      home.homeDirectory = mkOption {
        type = types.str;
        default = "/home/me";
      };
      home.packages = several;
      home.stateVersion = mkOption { type = types.str; };
      home.username = mkOption { type = types.str; };
      launchd.agents = free;
      systemd.services = free;
      systemd.tmpfiles.rules = several;
      systemd.user.services = free;
      users.users = free;
      users.groups = free;
    };
    config.users.users = {
      me.home = "/home/me";
      homeless.home = "/var/empty";
    };
  };

  config =
    (lib.evalModules {
      specialArgs = {
        inherit pkgs;
        modulesPath = "/modules";
      };
      modules = [
        (../../../nix/modules + "/${kind}.nix")
        system
        {
          services.murmur = {
            enable = true;
            package = murmur;
          }
          // settings;
        }
      ]
      ++ modules;
    }).config;

  cfg = config.services.murmur;
  failed = lib.filter (check: !check.assertion) config.assertions;
in
if failed != [ ] then
  throw (lib.concatMapStringsSep "\n" (check: check.message) failed)
else
  {
    inherit (config) launchd users;
    inherit (config.home) packages;
    inherit (config.environment) systemPackages;
    folders = config.systemd.tmpfiles.rules;
    inherit (import ../../../nix/modules/common.nix { inherit lib pkgs cfg; }) configJson prepare;
    service = config.systemd.services.murmur or null;
    userService = config.systemd.user.services.murmur or null;
  }
