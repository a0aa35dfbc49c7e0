# Part of nixpkgs' dockerTools: an image with a layer for each store path and one on top of them.
{ mkDerivation }:
{
  buildLayeredImage =
    {
      name,
      tag,
      contents,
      config,
      fakeRootCommands,
    }:
    mkDerivation {
      name = "${name}.tar.gz";
      inherit contents fakeRootCommands;
      config = builtins.toJSON config;
      reference = "${name}:${tag}";
      passAsFile = [ "config" ];
      # One file of references for each of them.
      exportReferencesGraph = builtins.concatMap (index: [
        "closure-${toString index}"
        (builtins.elemAt contents index)
      ]) (builtins.genList (index: index) (builtins.length contents));
      buildCommand = ". ${./docker.sh}";
    };
}
