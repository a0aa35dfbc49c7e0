# The options that the NixOS and Home Manager modules share.
{ lib, ... }:
let
  inherit (lib) mkOption types;
in
{
  options.services.murmur = {
    enable = lib.mkEnableOption "murmur, which runs coding agents unattended, on a schedule";

    package = mkOption {
      type = types.package;
      description = "The murmur package.";
    };

    extraPackages = mkOption {
      type = types.listOf types.package;
      default = [ ];
      example = lib.literalExpression "[ pkgs.claude-code pkgs.git ]";
      description = "Packages on the agents' PATH, including the agent itself.";
    };

    maxConcurrent = mkOption {
      type = types.nullOr types.ints.positive;
      default = null;
      description = "The maximum number of beats at once; null for murmur's default.";
    };

    reserve = mkOption {
      type = types.nullOr (types.strMatching "[1-9][0-9]?%");
      default = null;
      example = "30%";
      description = "The share of each usage limit to leave unused, unless a workspace sets another; null for none.";
    };

    budget = mkOption {
      type = types.nullOr (types.attrsOf (types.either types.number types.str));
      default = null;
      example = {
        month = "100 USD";
      };
      description = "How much the beats of all workspaces may cost together per day, week or month; null for no limit.";
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
        The folders with a HEARTBEAT.md, by name. They replace murmur's config.json: workspaces that were added by hand are
        removed at the next start; the previous file is kept as config.json.before.
      '';
    };

    environmentFiles = mkOption {
      type = types.listOf (types.strMatching "/[^[:space:]]*");
      default = [ ];
      example = [ "/run/secrets/anthropic" ];
      description = ''
        Files with lines NAME=value to add to the environment, such as ANTHROPIC_API_KEY. Use strings: a Nix path would be
        copied to the store, which everyone can read.
      '';
    };

    hardening = mkOption {
      type = types.bool;
      default = true;
      description = "Whether to drop privileges that agents don't need.";
    };
  };
}
