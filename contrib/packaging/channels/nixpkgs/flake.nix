# A stub of nixpkgs with what contrib/packaging/nix uses of it, so that contrib/verify channels can evaluate that without the real one.
{
  outputs = { self }:
    let
      packagesOf = system:
        let
          packages = {
            callPackage = file: overrides:
              let function = import file;
              in function (builtins.intersectAttrs (builtins.functionArgs function) packages // overrides);
            stdenvNoCC.mkDerivation = { pname, version, src, installPhase, ... }@attributes:
              attributes // derivation {
                inherit system src installPhase;
                name = "${pname}-${version}";
                builder = "/bin/sh";
              };
          };
        in packages;
    in {
      legacyPackages = builtins.listToAttrs (map (system: { name = system; value = packagesOf system; }) [ "x86_64-linux" "aarch64-linux" ]);
    };
}
