# Workspaces with every key and every possible value of an enumeration.
let
  words = name: more: {
    path = "/srv/${name}";
    interval = "1d 2h";
  }
  // more;
in
{
  all = {
    path = "/srv/all";
    name = "All of it";
    cron = "0 9 * * MON-FRI";
    tz = "Europe/Berlin";
    maxTurns = 5;
    timeout = "1h30m";
    backgroundWait = "30s";
    model = "opus";
    agent = [
      "claude"
      "codex"
    ];
    permissions.deny = [ "Bash(curl *)" ];
    permissionsChecker = "manual";
    approval = "defer";
    approvalWait = "2m";
    approvalExpiry = "24h";
    questions = "broker";
    requires = [ "mail" ];
    mcp = [ "mail" ];
    reserve = "30%";
    onLimit = "skip";
    enabled = false;
    activeHours = [ "Mon-Fri 08:00-20:00 Europe/Berlin" ];
    except = [ "2026-12-24" ];
    jitter = "5m";
    catchUp = "2h";
    startDeadline = "1h";
    overlap = "skip";
    on.path = [ "src/**" ];
    when = [
      { run = "./changed.sh"; }
      { changed = [ "src/**" ]; }
    ];
    verify = "./check.sh";
    gates = "workspace";
    retry = {
      max = 3;
      backoff = "1m";
      maxBackoff = "30m";
    };
    breaker = 5;
    maxBudgetUsd = 2.5;
    budget = {
      day = 5;
      month = "9000000 tokens";
    };
    minFree = "2GiB";
    startTimeout = "1m";
    idleTimeout = "10m";
    toolTimeout = "20m";
  };
  deny = words "deny" {
    permissions = { };
    permissionsChecker = "deny";
    approval = "wait";
    questions = "deny";
    mcp = "project";
    onLimit = "resume";
    enabled = true;
    activeHours = "22:00-06:00";
    catchUp = "skip";
    overlap = "queue";
    on.path = "README.md";
    when = [
      "./changed.sh"
      "--since"
      "1d"
    ];
    verify.run = "./check.sh";
    gates = "config";
    retry.max = 1;
    breaker = 0;
  };
  llm = words "llm" {
    permissions = "skip";
    permissionsChecker = "llm";
    catchUp = "once";
    overlap = "replace";
  };
  off = words "off" {
    permissionsChecker = "off";
    mcp = "none";
  };
}
