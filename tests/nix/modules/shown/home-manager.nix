{
  inputs.home-manager.url = "github:nix-community/home-manager";
  inputs.murmur.url = "github:OWNER/murmur";

  outputs = { nixpkgs, home-manager, murmur, ... }: {
    homeConfigurations.me = home-manager.lib.homeManagerConfiguration {
      pkgs = nixpkgs.legacyPackages.x86_64-linux;
      modules = [
        murmur.homeManagerModules.default
        ({ pkgs, ... }: {
          home = {
            username = "me";
            homeDirectory = "/home/me";
            stateVersion = "26.05";
          };
          services.murmur = {
            enable = true;
            extraPackages = [ pkgs.claude-code pkgs.git ];
            environmentFiles = [ "/home/me/.config/murmur/keys" ];
            workspaces.notes = {
              path = "/home/me/notes";
              interval = "4h";
            };
          };
        })
      ];
    };
  };
}
