# Installs the static binary of netwatch from the archive of contrib/package, because nixpkgs has no Swift 6.2. So netwatch get,
# mqtt, --probe and --log are missing. flake.nix says how this file is used, and how it was checked.
{ stdenvNoCC }:

stdenvNoCC.mkDerivation {
  pname = "netwatch";
  version = "@VERSION@";
  src = ./. + "/netwatch-@VERSION@-linux-@ARCH@.tar.gz";

  dontConfigure = true;
  dontBuild = true;
  dontStrip = true;
  installPhase = ''
    runHook preInstall
    mkdir -p "$out/bin" "$out/lib"
    cp bin/netwatch "$out/bin"
    cp -r share "$out"
    cp -r lib/systemd "$out/lib"
    rm "$out"/lib/systemd/*/netwatch-{log,mqtt}.service
    install -D -m 755 -t "$out/lib/netwatch" lib/netwatch/targets
    sed -i "/^Exec/s#/usr/local/\(bin\|lib/netwatch\)/#$out/\1/#g" "$out"/lib/systemd/*/netwatch*.service
    runHook postInstall
  '';

  # No licence is chosen yet.
  meta = {
    description = "Shows whether this machine is online, over which connection, and why";
    mainProgram = "netwatch";
    platforms = [ "@ARCH@-linux" ];
  };
}
