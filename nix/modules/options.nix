# The options that the modules of NixOS and of Home Manager share.
{ lib, ... }:
let
  inherit (lib) mkOption types;
in
{
  options.services.murmur = {
    enable = lib.mkEnableOption "murmur, which runs coding agents unattended, on a schedule";

    package = mkOption {
      type = types.package;
      description = "The murmur to run.";
    };

    extraPackages = mkOption {
      type = types.listOf types.package;
      default = [ ];
      example = lib.literalExpression "[ pkgs.claude-code pkgs.git ]";
      description = "What agents find on their PATH, and the agent itself.";
    };

    maxConcurrent = mkOption {
      type = types.nullOr types.ints.positive;
      default = null;
      description = "How many beats run at once in all; null is murmur's own choice.";
    };

    workspaces = mkOption {
      type = types.attrsOf (types.submodule ./workspace.nix);
      default = { };
      example = {
        site = {
          path = "/srv/site";
          cron = "0 9 * * MON-FRI";
          tz = "Europe/Berlin";
        };
      };
      description = ''
        The folders that have a HEARTBEAT.md, by name. They become murmur's config.json: what is registered there by hand
        and not here goes at the next start, and stays beside it in config.json.before.
      '';
    };

    environmentFiles = mkOption {
      type = types.listOf (types.strMatching "/[^[:space:]]*");
      default = [ ];
      example = [ "/run/secrets/anthropic" ];
      description = ''
        Files of lines NAME=value that are put into the environment, such as ANTHROPIC_API_KEY. Texts and not Nix paths,
        which would be copied into the store for everyone to read.
      '';
    };

    hardening = mkOption {
      type = types.bool;
      default = true;
      description = "Whether the service gives up what agents do not need.";
    };
  };
}
