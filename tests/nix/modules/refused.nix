# Invalid settings, and what the error must name. Each is an error of evaluation.
let
  site = more: {
    workspaces.site = {
      path = "/srv/site";
    }
    // more;
  };
  option = key: "services.murmur.workspaces.site.${key}";
  wrong = key: value: {
    settings = site { ${key} = value; };
    says = option key;
  };
  # The same for an option outside workspaces.
  wrongOf = key: value: {
    settings.${key} = value;
    says = "services.murmur.${key}";
  };
in
{
  "a workspace without a path" = {
    settings.workspaces.site.interval = "30m";
    says = option "path";
  };
  "a relative path" = wrong "path" "srv/site";
  "a path with a tilde" = wrong "path" "~/site";
  "a path that is a list" = wrong "path" [ "/srv/site" ];
  "a path in the store" = wrong "path" "${builtins.storeDir}/site";
  "a key that is not known" = wrong "intervall" "30m";
  "an interval that is a number" = wrong "interval" 30;
  "an interval without a unit" = wrong "interval" "30";
  "an interval that is nothing" = wrong "interval" "";
  "an interval of no time" = wrong "interval" "0m";
  "an interval from small to large" = wrong "interval" "30m1h";
  "a cron expression of six fields" = wrong "cron" "0 0 9 * * 1";
  "a cron name that does not exist" = wrong "cron" "@reboot";
  "a zone without cron" = wrong "tz" "Europe/Berlin";
  "a zone with a space" = {
    settings = site {
      cron = "@daily";
      tz = "Europe/ Berlin";
    };
    says = option "tz";
  };
  "both interval and cron" = {
    settings = site {
      interval = "30m";
      cron = "@daily";
    };
    says = option "cron";
  };
  "no turns" = wrong "maxTurns" 0;
  "a wait without a unit" = wrong "backgroundWait" "10";
  "retries without a number" = wrong "retry" { backoff = "1m"; };
  "a breaker that is not a number" = wrong "breaker" "5";
  "required servers that are not a list" = wrong "requires" "mail";
  "another word for servers" = wrong "mcp" "all";
  "a required server without a name" = wrong "requires" [ "" ];
  "a name that looks like an option" = wrong "name" "-site";
  "an empty model" = wrong "model" "";
  "permissions of another word" = wrong "permissions" "off";
  "a deny list that is a text" = wrong "permissions" { deny = "Edit"; };
  "permissions of another key" = wrong "permissions" { allow = [ "Edit" ]; };
  "a checker that does not exist" = wrong "permissionsChecker" "nobody";
  "an approval that does not exist" = wrong "approval" "allow";
  "questions to nobody known" = wrong "questions" "user";
  "two workspaces of one folder" = {
    settings.workspaces = {
      one.path = "/srv/site";
      two.path = "/srv/site";
    };
    says = "services.murmur.workspaces.one and services.murmur.workspaces.two.path";
  };
  "nothing at once" = wrongOf "maxConcurrent" 0;
  "a file of keys that is a Nix path" = wrongOf "environmentFiles" [ ./refused.nix ];
  "a file of keys in the store" = wrongOf "environmentFiles" [ "${builtins.storeDir}/keys" ];
  "a package that is a text" = wrongOf "package" "murmur";
  "a folder of murmur's with a space" = wrongOf "dataDir" "/var/lib/my murmur";
  "a user whom nobody made" = wrongOf "user" "someone";
  "a user without a home" = {
    settings.user = "homeless";
    says = "services.murmur.user is homeless, whose home is /var/empty";
  };
  "an option that is not known" = {
    settings.workspace.site = { };
    says = "services.murmur.workspace";
  };
}
