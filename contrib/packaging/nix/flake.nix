# A flake that installs the static binary of netwatch. contrib/packaging/channels/write fills in the words between the signs @ and puts the
# archive of contrib/package beside this file; then run "nix profile install path:." here.
# contrib/verify channels checks it for syntax and evaluates it with a stub of nixpkgs. It was never built here.
{
  description = "Shows whether this machine is online, over which connection, and why";

  inputs.nixpkgs.url = "nixpkgs";

  outputs = { self, nixpkgs }:
    let system = "@ARCH@-linux";
    in {
      packages.${system}.default = nixpkgs.legacyPackages.${system}.callPackage ./package.nix { };
    };
}
