# One workspace: the keys of an entry of config.json that users write.
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
  percentage = shaped "percentage such as \"30%\"" "[1-9][0-9]?%";
  word = shaped "text that is not empty, has no control characters and does not start with \"-\"" (
    "[^-[:cntrl:]][^[:cntrl:]]*"
  );
  size = shaped "size such as \"256MiB\"" "[0-9]+ *([KMGT]i)?B";
  gate = types.either word (
    types.either (types.listOf types.anything) (types.attrsOf types.anything)
  );
in
{
  options = {
    path = mkOption {
      type = shaped "absolute path" "/[^[:cntrl:]]*";
      example = "/srv/site";
      description = "The folder. It need not exist yet; on NixOS with hardening, one created later is read-only until the service restarts.";
    };

    name = mkOption {
      type = word;
      default = name;
      description = "The display name.";
    };

    interval = optional interval "The time between runs. Can't be combined with cron.";
    cron = optional cron "When to run. Can't be combined with interval.";
    tz = optional zone "The time zone of cron, an IANA name; null for the system's.";
    maxTurns = optional types.ints.positive "The maximum number of the model's replies in a beat.";
    timeout = optional interval "The maximum duration of a beat.";
    backgroundWait = optional interval "How long to wait for another turn after a beat has answered.";
    model = optional word "The model; null for the agent's default.";

    agent = optional (types.either word (
      types.listOf word
    )) "The backends that may run its agents: claude, codex or acp:NAME. The first is the default.";

    permissions = optional (types.either (types.enum [ "skip" ]) (
      types.submodule {
        options.deny = mkOption {
          type = types.listOf types.str;
          default = [ ];
          example = [ "Bash(curl *)" ];
          description = "Patterns of calls to deny, in addition to the built-in list.";
        };
      }
    )) "What its agents may not do; \"skip\" disables the deny list and the guard.";

    permissionsChecker = optional (types.enum [
      "off"
      "manual"
      "llm"
      "deny"
    ]) "Who decides on calls that neither the guard nor rules decide.";
    approval = optional (types.enum [
      "wait"
      "defer"
    ]) "What happens when nobody answers in time.";
    approvalWait = optional interval "How long a person has to answer.";
    approvalExpiry = optional interval "How long a deferred call waits for its answer.";
    questions = optional (types.enum [
      "broker"
      "deny"
    ]) "Who answers the agents' questions.";
    requires = optional (types.listOf word) "The names of MCP servers that its heartbeats need.";
    mcp = optional (types.either (types.enum [
      "none"
      "project"
    ]) (types.listOf word)) "The MCP servers that its agents may have.";
    reserve = optional percentage "The share of each usage limit to leave unused.";
    onLimit = optional (types.enum [
      "resume"
      "skip"
    ]) "What happens to a beat that a usage limit stopped.";
    enabled = optional types.bool "Whether the daemon starts its heartbeats.";
    activeHours = optional (types.either word (
      types.listOf word
    )) "When beats may start, such as \"Mon-Fri 08:00-20:00 Europe/Berlin\", or a list of these.";
    except = optional (types.listOf word) "Dates on which no beat starts, such as \"2026-12-24\" or \"12-25\".";
    jitter = optional interval "How much later than scheduled a beat may start.";
    catchUp = optional (types.either (types.enum [
      "once"
      "skip"
    ]) interval) "Whether one beat replaces missed runs, or how late it may start.";
    startDeadline = optional interval "How late a beat may start.";
    overlap = optional (types.enum [
      "skip"
      "queue"
      "replace"
    ]) "What happens when a heartbeat is due while its last beat runs.";
    on = optional (types.submodule {
      options.path = lib.mkOption {
        type = types.either types.str (types.nonEmptyListOf types.str);
        description = "Paths or globs in the workspace.";
      };
    }) "Files whose changes start a beat, besides the schedule.";
    when = optional gate "What must hold before a beat starts its agent: a program or a condition, or several.";
    verify = optional gate "A program that must succeed after a beat that reports success, or several.";
    gates = optional (types.enum [
      "config"
      "workspace"
    ]) "Who may define when and verify: this configuration alone, or each HEARTBEAT.md too.";
    retry = optional (types.submodule {
      options = {
        max = mkOption {
          type = types.ints.between 1 100;
          description = "How many times in a row.";
        };
        backoff = optional interval "How long to wait before the first retry; it doubles from one to the next.";
        maxBackoff = optional interval "The longest wait.";
      };
    }) "Whether to retry a beat when the API was overloaded or unreachable.";
    startTimeout = optional interval "How long an agent may take to print anything.";
    idleTimeout = optional interval "How long an agent may print nothing while no tool runs.";
    toolTimeout = optional interval "How long a tool may run.";
    breaker = optional types.ints.unsigned "After how many failures in a row a heartbeat runs less often; 0 for never.";
    maxBudgetUsd = optional types.number "How much a beat may cost, in US dollars.";
    budget = optional (types.attrsOf (types.either types.number types.str)) "How much its beats may cost per day, week or month: US dollars, or text such as \"5 USD\" or \"9000000 tokens\".";
    minFree = optional size "How much space must be free on its disk before a beat starts.";
  };
}
