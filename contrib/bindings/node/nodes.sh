# Shared by the checks that run Node.js. Source this file after contrib/common.sh, with a folder $work. It sets `nodes`:
# the programs to try, each with its folder of shared data.
# Debian's packages that are missing are unpacked into a folder and not installed, because they could replace another
# Node.js.
unpacked=${XDG_CACHE_HOME:-$HOME/.cache}/netwatch/nodejs
libraries=$unpacked/usr/lib/$(gcc -print-multiarch)

# debian_version: prints the version of Debian's own nodejs, which contains "dfsg", or nothing. awk reads all lines,
# because apt-cache would otherwise sometimes end by SIGPIPE, and this script with it.
debian_version() { apt-cache madison nodejs 2>/dev/null | awk -F ' *[|] *' '/dfsg/ && !found++ { print $2 }'; }

# unpack VERSION: unpacks Debian's Node.js with its libraries and headers.
unpack() {
  [ "$(cat "$unpacked/version" 2>/dev/null)" = "$1" ] && [ -d "$unpacked/usr/share/nodejs/typescript" ] && return 0
  say "Unpacking Debian's Node.js $1"
  rm -rf "$unpacked"
  mkdir -p "$unpacked"
  (
    cd "$unpacked"
    apt-get install -s --no-install-recommends --allow-downgrades "nodejs=$1" libnode-dev node-typescript |
      sed -n 's/^Inst \([^ ]*\) .*(\([^ ]*\) .*/\1=\2/p' | xargs apt-get download -qq -o APT::Sandbox::User="$(id -un)"
    for package in *.deb; do dpkg-deb -x "$package" .; done
    rm -f ./*.deb
  ) >&2
  echo "$1" >"$unpacked/version"
}

nodes=()
installed=$(dpkg-query -W -f '${Version}' nodejs 2>/dev/null || true)
version=$(debian_version)
if [ -n "$version" ] && [ "$version" != "$installed" ]; then
  unpack "$version"
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$libraries" "$unpacked/usr/bin/node" >"$work/node"
  chmod 755 "$work/node"
  nodes+=("$work/node $unpacked/usr/share")
  export NODE_HEADERS=$unpacked/usr/include/node
else
  need_packages nodejs libnode-dev node-typescript
  installed=$(dpkg-query -W -f '${Version}' nodejs)
fi
[ -z "$installed" ] || nodes+=("/usr/bin/node ")
