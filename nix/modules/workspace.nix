# One workspace: the keys of an entry of config.json that are not murmur's own to write.
{ lib, name, ... }:
let
  inherit (lib) mkOption types;

  optional =
    type: description:
    mkOption {
      inherit description;
      type = types.nullOr type;
      default = null;
    };
  shaped = description: pattern: types.strMatching pattern // { inherit description; };

  interval =
    let
      shape = shaped "interval such as \"30m\" or \"1h30m\"" "([0-9]+d *)?([0-9]+h *)?([0-9]+m *)?([0-9]+s *)?";
    in
    types.addCheck shape (text: builtins.match ".*[1-9].*" text != null) // { inherit (shape) description; };
  cron = shaped "cron expression of five fields, such as \"0 9 * * MON-FRI\"" (
    "@(hourly|daily|weekly|monthly|yearly)|[^[:space:]]+( +[^[:space:]]+){4}"
  );
  zone = shaped "time zone such as \"Europe/Berlin\"" "[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*";
  word = shaped "text that is not empty, has no control characters and does not start with \"-\"" (
    "[^-[:cntrl:]][^[:cntrl:]]*"
  );
in
{
  options = {
    path = mkOption {
      type = shaped "absolute path" "/[^[:cntrl:]]*";
      example = "/srv/site";
      description = "The folder. It need not exist yet; with hardening on, one made later is read-only until the service starts again.";
    };

    name = mkOption {
      type = word;
      default = name;
      description = "What lists call it.";
    };

    interval = optional interval "How long after the last run the next is due. Not together with cron.";
    cron = optional cron "When it is due. Not together with interval.";
    tz = optional zone "The zone of cron, an IANA name; null is the system's.";
    maxTurns = optional types.ints.positive "How many turns a beat may take.";
    timeout = optional interval "How long a beat may take.";
    backgroundWait = optional interval "How long a beat that has answered is given to take another turn.";
    model = optional word "The model's name; null is the agent's own choice.";

    permissions = optional (types.either (types.enum [ "skip" ]) (
      types.submodule {
        options.deny = mkOption {
          type = types.listOf types.str;
          default = [ ];
          example = [ "Bash(curl *)" ];
          description = "Patterns of calls that are denied, on top of the built-in list.";
        };
      }
    )) "What its agents may not do; \"skip\" is no deny list and no guard.";

    permissionsChecker = optional (types.enum [
      "off"
      "manual"
      "llm"
      "deny"
    ]) "Who decides what neither guard nor rules do.";
    approval = optional (types.enum [
      "wait"
      "defer"
    ]) "What happens when nobody answers in time.";
    approvalWait = optional interval "How long a person has to answer.";
    approvalExpiry = optional interval "How long what was put off waits for its answer.";
    questions = optional (types.enum [
      "broker"
      "deny"
    ]) "Who answers the agents' questions.";
    requires = optional (types.listOf word) "The MCP servers that its heartbeats can't do without, by name.";
    mcp = optional (types.either (types.enum [
      "none"
      "project"
    ]) (types.listOf word)) "The MCP servers that its agents may have.";
  };
}
