{
  inputs.murmur.url = "github:OWNER/murmur";

  outputs = { nixpkgs, murmur, ... }: {
    nixosConfigurations.machine = nixpkgs.lib.nixosSystem {
      modules = [
        murmur.nixosModules.default
        ({ pkgs, ... }: {
          services.murmur = {
            enable = true;
            extraPackages = [ pkgs.claude-code pkgs.git ];
            environmentFiles = [ "/run/secrets/anthropic" ];
            workspaces.site = {
              path = "/srv/site";
              cron = "0 9 * * MON-FRI";
              tz = "Europe/Berlin";
              permissions.deny = [ "Bash(curl *)" ];
            };
          };
        })
      ];
    };
  };
}
