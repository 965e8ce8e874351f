# Builds, installs, uses and removes packages for Arch and RPM, and checks the recipes for Alpine and Nix.
# As root, five minutes beside one run of contrib/release --shared; 110 MB from Debian.
#
# The packages are built from the source archive of the last commit, with Debian's makepkg and rpmbuild, on one fresh
# Debian, and installed on another one. The Nix flake is evaluated with a stub of nixpkgs, and busybox runs the recipe
# for Alpine.
#
# NETWATCH_ARCHIVE   the archive that contrib/package archive has built, for Alpine and Nix. Default: a stand-in with
#                    the files of the archive but with a binary that is not static
# shellcheck disable=SC2016,SC2317 # Much of it is for inner shells, or is run by expect.
be_root "make a Debian to install the packages in"
target=$work/target
tools=$work/tools

# inside ROOT COMMAND…: runs a command in ROOT. The recipes are in /recipes, the binaries in /built, and the root to
# fill in /target.
inside() {
  unshare --mount --pid --fork --kill-child bash -c '
    root=$1 work=$2 built=$3
    mount --rbind /dev "$root/dev"
    mount -t proc proc "$root/proc"
    if [ -d "$root/target" ]; then
      mount --bind "$work/target" "$root/target"
      mount --bind "$work/recipes" "$root/recipes"
      mount --bind "$built" "$root/built"
    fi
    exec chroot "$root" env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin "${@:4}"
  ' - "$1" "$work" "$built" "${@:2}"
}
tool() { inside "$tools" "$@"; }
used() { inside "$target" "$@"; }
# built_by COMMAND: runs a command as a user who is not root, in the folder /build.
built_by() { tool setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/build NETWATCH_BUILT=/built bash -c "cd /build && $1"; }

# inventory: prints all files of the target with their modes and owners, except the notes of package managers and
# caches.
inventory() {
  (cd "$target" && find . -xdev \( -path ./packages -o -path ./var/cache -o -path ./tmp -o -path ./root \) -prune -o \
    -type d -printf '%p/\n' -o -printf '%m %u %g %p\n') | sort
}

# files_of: prints the files that were added since the last inventory. Manual pages are printed without .gz.
files_of() { inventory | comm -13 "$work/before" - | grep -v '/$' | sed 's|\(/man[1578]/.*\)\.gz$|\1|'; }

# The files that each package installs, with their modes and owners.
expected=$(sort <<'END'
755 root root ./usr/bin/netwatch
755 root root ./usr/lib/netwatch/netwatch-http
755 root root ./usr/lib/netwatch/netwatch-log
755 root root ./usr/lib/netwatch/netwatch-mqtt
755 root root ./usr/lib/netwatch/targets
644 root root ./usr/lib/systemd/system/netwatch-log.service
644 root root ./usr/lib/systemd/system/netwatch-mqtt.service
644 root root ./usr/lib/systemd/system/netwatch-wait-online.service
644 root root ./usr/lib/systemd/system/netwatch.service
644 root root ./usr/lib/systemd/system/netwatch.socket
644 root root ./usr/lib/systemd/user/netwatch-log.service
644 root root ./usr/lib/systemd/user/netwatch-targets.service
644 root root ./usr/lib/systemd/user/netwatch-transfers.path
644 root root ./usr/lib/systemd/user/netwatch-transfers.service
644 root root ./usr/lib/systemd/user/netwatch.service
644 root root ./usr/lib/systemd/user/netwatch.socket
644 root root ./usr/lib/systemd/user/network-reachable.target
644 root root ./usr/lib/systemd/user/network-unmetered.target
644 root root ./usr/share/bash-completion/completions/netwatch
644 root root ./usr/share/doc/netwatch/README.md
644 root root ./usr/share/doc/netwatch/copyright
644 root root ./usr/share/doc/netwatch/event.schema.json
644 root root ./usr/share/doc/netwatch/explain.schema.json
644 root root ./usr/share/doc/netwatch/fleet.schema.json
644 root root ./usr/share/doc/netwatch/log.schema.json
644 root root ./usr/share/doc/netwatch/top.schema.json
644 root root ./usr/share/doc/netwatch/transfers.schema.json
644 root root ./usr/share/fish/vendor_completions.d/netwatch.fish
644 root root ./usr/share/man/man1/netwatch-get.1
644 root root ./usr/share/man/man1/netwatch-log.1
644 root root ./usr/share/man/man1/netwatch-mqtt.1
644 root root ./usr/share/man/man1/netwatch-top.1
644 root root ./usr/share/man/man1/netwatch.1
644 root root ./usr/share/man/man5/netwatch-events.5
644 root root ./usr/share/man/man5/netwatch-rules.5
644 root root ./usr/share/man/man7/netwatch-bars.7
644 root root ./usr/share/man/man8/netwatch-serve.8
644 root root ./usr/share/netwatch/fleet/alerts.yml
644 root root ./usr/share/netwatch/fleet/cluster.conf
644 root root ./usr/share/netwatch/fleet/mosquitto.conf
644 root root ./usr/share/netwatch/fleet/nats-server.conf
644 root root ./usr/share/netwatch/fleet/netwatch-fleet.service
644 root root ./usr/share/netwatch/fleet/netwatch-fleet.tar.gz
644 root root ./usr/share/zsh/site-functions/_netwatch
END
)

# is_installed: checks what every package must do in the target.
is_installed() {
  expect "has the files that it should have" diff <(echo "$expected") <(files_of | sort)
  expect "has the version in it" test "$(used netwatch --version)" = "$version"
  expect "says the state" says '"event":"initial"' used netwatch status --json
  expect "finds its helpers" says 'no log' used netwatch log
  expect "has netwatch(1)" says 'EXIT STATUS' used sh -c 'man -l /usr/share/man/man1/netwatch.1*'
  expect "has netwatch-events(5)" says mono_ns used sh -c 'man -l /usr/share/man/man5/netwatch-events.5*'
}

is_gone() { expect "has nothing left of it" diff "$work/before" <(inventory); }

say "The binaries"
built=$(dirname "$("$top/contrib/release" --shared | tail -n 1)")
version=$("$built/netwatch" --version)

say "Two fresh Debians"
need_packages mmdebstrap
# shellcheck disable=SC2046,SC2086 # One package a word.
make_debian "$target" man-db libstdc++6 \
  $(for package in $build_packages; do libraries_of "$package" | grep -v -e -dev; done | sort -u)
cp -a "$target" "$tools"
used apt-get -qq clean
tool sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  makepkg pacman-package-manager rpm rpmlint nix-bin busybox-static musl fakeroot binutils file libarchive-tools zstd' >"$work/said" 2>&1 ||
  { cat "$work/said" >&2; die "the tools cannot be installed."; }
mkdir "$tools"/{target,recipes,built,build} "$target/packages"
# On every Arch and Fedora, other packages have files in these folders, so removing netwatch must keep the folders.
for folder in lib/systemd/user share/zsh/site-functions share/fish/vendor_completions.d; do
  install -D -m 644 /dev/null "$target/usr/$folder/other"
done
chown 1000:1000 "$tools/build"

say "The recipes"
archive=${NETWATCH_ARCHIVE:-}
if [ -z "$archive" ]; then
  name=netwatch-$version-linux-$(uname -m)
  mkdir -p "$work/stand-in"
  cp "$built/netwatch" "$work/stand-in"
  "$top/contrib/packaging/install" "$work/stand-in/netwatch" "$work/stand-in/$name" /usr/local
  archive=$work/$name.tar.gz
  tar -C "$work/stand-in" -czf "$archive" "$name"
fi
"$top/contrib/packaging/channels/write" "$work/recipes" "$archive" >"$work/paths"
# shellcheck disable=SC2046 # One path a word.
expect "have no word left to fill in" sh -c '! grep -n "@[A-Z0-9]*@" "$@"' - $(<"$work/paths")
inventory >"$work/before"

say "Arch: makepkg and pacman"
pacman="pacman --root /target --dbpath /target/packages --config /build/pacman.conf --logfile /build/pacman.log --noconfirm"
printf '[options]\nArchitecture = auto\nLocalFileSigLevel = Optional\n' >"$tools/build/pacman.conf"
expect "builds a package" built_by 'cp -r /recipes/arch . && cd arch && makepkg --nodeps'
expect "installs it" tool sh -c "$pacman -U --nodeps --nodeps /build/arch/netwatch-$version-1-*.pkg.tar.*"
is_installed
expect "is known to pacman" says "netwatch $version-1" tool sh -c "$pacman -Q netwatch"
expect "removes it" tool sh -c "$pacman -R netwatch"
is_gone

say "RPM: rpmbuild and rpm"
rpm="rpm --root /target --dbpath /packages"
expect "builds a package" built_by \
  'cp -r /recipes/rpm . && cd rpm && rpmbuild -ba --nodeps --define "_topdir /build/top" --define "_sourcedir $PWD" netwatch.spec'
expect "rpmlint finds no error" tool sh -c 'rpmlint -r /recipes/rpm/netwatch.rpmlintrc /recipes/rpm/netwatch.spec /build/top/RPMS/*/netwatch-*.rpm'
expect "installs it" tool sh -c "$rpm --install --nodeps /build/top/RPMS/*/netwatch-$version-1*.rpm"
is_installed
expect "is what rpm has noted" tool sh -c "$rpm --verify --nodeps netwatch"
expect "needs no libcurl" tool sh -c "! $rpm --query --requires netwatch | grep -E 'libcurl|libsqlite'"
expect "removes it" tool sh -c "$rpm --erase netwatch"
is_gone

# Alpine and Nix take no helper program from the archive, so Nix takes no unit for the log. Alpine takes no units.
without() { grep -v "$@" <<<"$expected"; }
# tree FOLDER: prints the files of a folder with their modes, as if the folder were /usr.
tree() { (cd "$1" && find . -type f -printf '%m root root ./usr/%P\n' | grep -v /changelog | sort); }

say "Alpine, checked without abuild"
expect "is sh" tool busybox sh -n /recipes/alpine/APKBUILD
expect "has the fields that abuild wants" tool busybox sh -euc 'srcdir=; . /recipes/alpine/APKBUILD
  for field in "$pkgname" "$pkgver" "$pkgrel" "$pkgdesc" "$url" "$arch" "$license" "$source" "$sha512sums"; do test -n "$field"; done'
expect "has the version" tool busybox sh -c 'srcdir=; . /recipes/alpine/APKBUILD; test "$pkgver" = "$0"' "$version"
expect "has the sum of its archive" tool busybox sh -c \
  'srcdir=; . /recipes/alpine/APKBUILD; cd /recipes/alpine && echo "$sha512sums" | sed "/^$/d" | busybox sha512sum -c'
expect "checks and packages" tool busybox sh -euc 'srcdir=/build/alpine/src pkgdir=/build/alpine/pkg
  mkdir -p "$srcdir" "$pkgdir" && . /recipes/alpine/APKBUILD && tar -xzf "/recipes/alpine/$source" -C "$srcdir" && check && package'
expect "has the files that it should have" diff <(without -e /lib/) <(tree "$tools/build/alpine/pkg/usr")

if [ -n "${NETWATCH_ARCHIVE:-}" ]; then
  mkdir -p "$work"/musl/{bin,lib,proc,sys}
  cp -r "$tools/build/alpine/pkg/usr" "$work/musl/usr"
  cp "$tools/bin/busybox" "$work/musl/bin"
  cp "$tools"/lib/ld-musl-*.so.1 "$work/musl/lib"
  musl() {
    unshare --mount --pid --fork --kill-child sh -c \
      'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && exec chroot "$0" /bin/busybox env -i PATH=/usr/bin "$@"' "$work/musl" "$@"
  }
  expect "runs beside busybox and musl alone" says '"event":"initial"' musl netwatch status --json
  expect "says what it cannot do there" says 'get needs netwatch-http' musl netwatch get http://127.0.0.1/a
fi

say "Nix, evaluated with a stub of nixpkgs and not built"
cp -r "$top/contrib/packaging/channels/nixpkgs" "$tools/build"
nix="nix --extra-experimental-features 'nix-command flakes' --offline"
flake="path:/recipes/nix --no-write-lock-file --override-input nixpkgs path:/build/nixpkgs"
for name in flake package; do
  expect "parses $name.nix" tool nix-instantiate --parse "/recipes/nix/$name.nix"
  expect "parses $name.nix before it is filled in" tool sh -c 'nix-instantiate --parse -' <"$top/contrib/packaging/nix/$name.nix"
done
expect "evaluates the flake" tool sh -c "$nix flake check $flake"
expect "has the version" says "netwatch-$version" tool sh -c "$nix eval --raw ${flake/nix --/nix#default.name --}"
expect "has the archive" tool sh -c "test -s \"\$($nix eval --raw ${flake/nix --/nix#default.src --})\""
expect "runs its installPhase" tool sh -euc "$nix eval --raw ${flake/nix --/nix#default.installPhase --} >/build/phase"'
  mkdir -p /build/nix && tar -xzf /recipes/nix/*.tar.gz -C /build/nix --strip-components 1 && cd /build/nix &&
  { echo "runHook() { :; }"; cat /build/phase; } | out=/build/out bash -eu'
expect "has the files that it should have" diff <(without -e /lib/netwatch/netwatch -e /netwatch-log.service -e /netwatch-mqtt.service) <(tree "$tools/build/out")
for scope in system user; do
  expect "has a unit that finds it, $scope" grep -q '^ExecStart=/build/out/bin/netwatch ' \
    "$tools/build/out/lib/systemd/$scope/netwatch.service"
done
