# Builds the packages and tries them as people will: a fresh Debian, completion, purge, programs, systemd as PID 1.
# As root, twelve minutes; 250 MB, and what `verify guest` needs the first time.
#
# netwatch is installed on one Debian. The libraries are installed on another one, where programs in C, Python and
# JavaScript must report a pulled cable. The archive is tried where there is nothing else. The units are tried with
# systemd as the first process, in the guest's kernel.
. "$top/contrib/guest/common.sh"
be_root "make a Debian to install the package on"
need_packages lintian
root=$work/root

# typed SHELL LINE…: prints what a user sees who types these lines in the shell.
typed() { printf '%s\n' "${@:2}" exit | inside script -qec "$1" /dev/null; }

# inventory: prints all files of the Debian, with checksums of those in /etc. Records that other programs keep of the
# installation are left out, and so are the files of this check.
inventory() {
  (cd "$root" && find . -xdev \( -path ./var/cache -o -path ./var/log -o -path ./tmp -o -path './root/*' \) -prune -o -print &&
    find etc -type f ! -name ld.so.cache -exec cksum {} +) | sort
}

# gets PROGRAM: downloads a file from a server on that Debian, and checks every byte.
gets() {
  # shellcheck disable=SC2016 # For the inner shell.
  inside unshare --net sh -c '
    ip link set lo up && busybox httpd -p 127.0.0.1:80 -h /usr/share/doc/netwatch &&
    cd /tmp && "$0" get http://127.0.0.1/event.schema.json && cmp event.schema.json /usr/share/doc/netwatch/event.schema.json
  ' "$1"
}

# sees COMMAND…: pulls a cable and plugs it in again, and checks that the command reports both in lines of JSON.
sees() {
  # shellcheck disable=SC2016 # For the inner shell.
  inside unshare --net bash -c '
    . /root/world.sh
    work=$(mktemp -d)
    make_world "$work"
    "$@" >"$work/lines" &
    has "$work/lines" 1 "\"event\":\"initial\".*\"status\":\"wifi\"" && pull &&
      has "$work/lines" 1 "\"reason\":\"no_carrier\".*\"status\":\"not-reachable\"" && plug-in &&
      has "$work/lines" 1 "\"reason\":\"route_up\".*\"status\":\"wifi\""
  ' - "$@"
}

# first_example LANGUAGE FILE: prints the first example in a README.
first_example() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/!p;/^\`\`\`\$/q}" "$2"; }

completes() {
  expect "bash completes an option" says 'netwatch --version' typed "bash --rcfile $1 -i" $'netwatch --vers\t'
  expect "bash completes a command" says 'netwatch explain --help' typed "bash --rcfile $1 -i" $'netwatch expl\t--help'
}

say "The packages"
"$top/contrib/package" all >"$work/paths"
mapfile -t paths <"$work/paths"
deb=${paths[0]}
library_debs=("${paths[@]:1:3}")
archive=${paths[7]}
expect "lintian finds nothing" lintian --allow-root --fail-on error,warning "$deb" "${library_debs[@]}"
version=$(dpkg-deb -f "$deb" Version)

say "A fresh Debian"
make_debian "$root" systemd-sysv dbus libpam-systemd kmod procps iproute2 busybox ca-certificates man-db bash-completion fish zsh mosquitto mosquitto-clients
mkdir "$root/tmp/home"
mkdir -p -m 700 "$root/var/lib/private"
cp "$deb" "$root/root"
install='DEBIAN_FRONTEND=noninteractive apt-get install -y /root/netwatch_*.deb'
inventory >"$work/before"
expect "installs it" inside sh -c "$install"
expect "runs it" says '"event":"initial"' inside netwatch status --json
expect "has the version in it" says "$version" inside netwatch --version
expect "has netwatch(1)" says 'EXIT STATUS' inside man netwatch
expect "has netwatch-events(5)" says 'mono_ns' inside man netwatch-events
expect "has netwatch-rules(5)" says 'not-metered interface usb0' inside man netwatch-rules
expect "has netwatch-bars(7)" says 'portal_url' inside man netwatch-bars
expect "has netwatch-serve(8)" says '--connections n' inside man netwatch-serve
expect "finds them by their subjects" says 'netwatch-events (5)' inside apropos netwatch
completes /usr/share/bash-completion/bash_completion
expect "zsh completes" says "$version" typed "zsh -f -i" 'autoload -U compinit; compinit -u' $'netwatch --vers\t'
expect "fish completes" says '--follow' inside fish -c 'complete -C "netwatch --foll"'
expect "enables the units" inside sh -c \
  'systemctl enable netwatch.socket netwatch.service netwatch-log.service && systemctl --global enable netwatch.socket netwatch-log.service'
expect "gets a file" gets netwatch
expect "keeps a log" says "1 outage" inside sh -c \
  'export XDG_STATE_HOME=/root/state && unshare --net netwatch -f --log --count 1 && netwatch log && netwatch report /root/page.html &&
   rm -r /root/state /root/page.html'
expect "does without libcurl" inside sh -c 'apt-get remove -y libcurl4 && netwatch status'
expect "says what then is missing" says 'cannot be started without libcurl.so.4' inside netwatch get http://127.0.0.1/a
expect "does without SQLite" inside sh -c 'mv /usr/lib/*/libsqlite3.so.0 /root && netwatch status'
expect "says what is missing for the log" says 'cannot be started without libsqlite3.so.0' inside netwatch log
mv "$root"/root/libsqlite3.so.0 "$root"/usr/lib/*-linux-gnu/
expect "does without libmosquitto" inside sh -c 'mv /usr/lib/*/libmosquitto.so.1 /root && netwatch status'
expect "says what is missing for a broker" says 'cannot be started without libmosquitto.so.1' inside netwatch mqtt mqtt://127.0.0.1
mv "$root"/root/libmosquitto.so.1 "$root"/usr/lib/*-linux-gnu/
expect "makes an identity for the unit" inside sh -c 'netwatch mqtt --show-id && test -e /var/lib/netwatch-mqtt/instance'
# systemd makes these files for the service.
inside sh -c 'mkdir /var/lib/private/netwatch && touch /var/lib/private/netwatch/log.sqlite && ln -s private/netwatch /var/lib/netwatch'
expect "purges it, and says which logs stay" says "The logs that users have kept" inside apt-get purge --auto-remove -y netwatch
inventory >"$work/after"
expect "has nothing left of it" diff "$work/before" "$work/after"

say "Beside Debian's netdiag, which has a netwatch of its own"
# Debian has no netdiag any more after bookworm.
if [ -n "$(inside apt-cache madison netdiag)" ]; then
  # netdiag's own dependencies leave users and settings behind, so it is installed on a copy.
  fresh=$root
  root=$work/netdiag
  cp -a "$fresh" "$root"
  get='DEBIAN_FRONTEND=noninteractive apt-get install -y netdiag'
  expect "is not installed beside it" inside sh -c "$get"' && ! dpkg --force-depends -i /root/netwatch_*.deb 2>/root/said &&
    grep -q "conflicting packages" /root/said && ! grep -q "trying to overwrite" /root/said && dpkg-query -s netdiag >/dev/null'
  expect "takes its place" inside sh -c "$install"' && ! dpkg-query -s netdiag 2>/dev/null | grep -q "^Status:.* installed" &&
    test ! -e /usr/sbin/netwatch && test -e /usr/bin/netwatch'
  expect "gives its place up" inside sh -c "$get"' && ! dpkg-query -s netwatch 2>/dev/null | grep -q "^Status:.* installed" &&
    test -e /usr/sbin/netwatch && test ! -e /usr/bin/netwatch'
  root=$fresh
  rm -rf --one-file-system "$work/netdiag"
else
  say "  There is no netdiag in this Debian."
fi

say "Another one, for programs"
# The compiler and Node.js are not needed for the checks after that, so they are installed on a copy.
fresh=$root
root=$work/programs
cp -a "$fresh" "$root"
cp "${library_debs[@]}" "$top/contrib/bindings/world.sh" "$root/root"
inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
  gcc libc6-dev pkg-config python3 nodejs libnode-dev libuv1-dev' >"$work/said" 2>&1 ||
  { cat "$work/said" >&2; die "a C compiler, Python and Node.js cannot be installed."; }
inventory >"$work/before"
expect "there is no Swift" inside sh -c '! command -v swift'
expect "installs the libraries" inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y /root/*libnetwatch*.deb'
expect "has netwatch(3)" says netwatch_dispatch inside man 3 netwatch
expect "compiles the C example" inside sh -c \
  'cc /usr/share/doc/libnetwatch-dev/examples/poll.c -o /root/poll $(pkg-config --cflags --libs netwatch)'
expect "sees a cable pulled, in C" sees /root/poll
first_example python "$top/contrib/bindings/python/README.md" >"$root/root/example.py"
expect "runs the Python example" says NOT_REACHABLE inside unshare --net python3 /root/example.py
expect "sees a cable pulled, in Python" sees python3 -m libnetwatch no-service
mkdir "$root/root/node_modules"
cp -r "$top/contrib/bindings/node" "$root/root/node_modules/libnetwatch"
expect "compiles the addon of Node.js" inside sh -c 'cd /root/node_modules/libnetwatch &&
  cc -std=c11 -O2 -fPIC -shared netwatch.c -o netwatch.node -I/usr/include/node $(pkg-config --cflags --libs netwatch)'
first_example js "$top/contrib/bindings/node/README.md" >"$root/root/example.js"
expect "runs the Node.js example" says 'false null' inside unshare --net node /root/example.js
cat >"$root/root/follow.js" <<'END'
const monitor = new (require('libnetwatch').Monitor)();
console.log(monitor.path.line);
monitor.on('change', (path) => console.log(path.line));
END
expect "sees a cable pulled, in Node.js" sees node /root/follow.js
expect "purges the libraries" inside apt-get purge --auto-remove -y libnetwatch1 libnetwatch-dev python3-libnetwatch
inventory >"$work/after"
expect "has nothing left of them" diff "$work/before" "$work/after"
root=$fresh
rm -rf --one-file-system "$work/programs"

say "The archive"
mv "$root/usr/local" "$work/local"
mkdir "$root/usr/local"
tar -xzf "$archive" -C "$root/usr/local" --strip-components 1
expect "runs from /usr/local" says "$version" inside /usr/local/bin/netwatch --version
expect "says what libcurl is for" says 'cannot be started without libcurl' inside /usr/local/bin/netwatch get http://127.0.0.1/a
expect "has manual pages that are found" says /usr/local/share/man/man1/netwatch.1 inside man -w netwatch
expect "has units that are found" says disabled inside systemctl is-enabled netwatch.socket
expect "has units that find it" says ExecStart=/usr/local/bin/netwatch \
  cat "$root/usr/local/lib/systemd/system/netwatch.service" "$root/usr/local/lib/systemd/user/netwatch.service"
completes /usr/share/bash-completion/bash_completion
# Swift's runtime needs /proc. Everything else is missing.
mkdir -p "$work/bare/proc"
mv "$root/usr/local/bin/netwatch" "$work/bare"
bare() { unshare --mount bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" /netwatch "$@"' "$work/bare" "$@"; }
expect "runs where there is nothing else" says '"event":"initial"' bare status --json
expect "explains there" says "The internet is" bare explain
rm -r "$root/usr/local"
mv "$work/local" "$root/usr/local"
"$top/contrib/verify" "archive:$archive" || failed=1

say "A container whose first process is systemd"
inside sh -c "$install" >"$work/said" 2>&1 || { cat "$work/said" >&2; die "it cannot be installed again."; }
fresh=$root
root=$work/container
cp -a "$fresh" "$root"
# It needs libcurl, without which netwatch was tried above, so the first Debian does not have it.
inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends systemd-container' >"$work/said" 2>&1 ||
  { cat "$work/said" >&2; die "systemd-nspawn cannot be installed."; }
install -m 755 "$top/contrib/guest/container-script.sh" "$root/root"
cat >"$root/etc/systemd/system/check.service" <<'UNIT'
[Unit]
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
ExecStart=/root/container-script.sh
StandardOutput=file:/root/said
[Install]
WantedBy=multi-user.target
UNIT
inside systemctl enable check.service 2>/dev/null
# The container has its own tree of control groups, so this machine needs no systemd.
# shellcheck disable=SC2016 # For the inner shell.
unshare --mount --cgroup bash -c '
  mount --make-rprivate /
  if mountpoint -q /sys/fs/cgroup; then umount -R /sys/fs/cgroup; fi
  mount -t cgroup2 none /sys/fs/cgroup
  libraries=$(echo "$0"/usr/lib/*-linux-gnu)
  LD_LIBRARY_PATH=$libraries:$libraries/systemd exec timeout 300 "$0/usr/bin/systemd-nspawn" --quiet --directory="$0" \
    --register=no --keep-unit --private-network --console=pipe --boot
' "$root" </dev/null >"$work/output" 2>&1 || { failed=1; tail -n 20 "$work/output" >&2; }
cat "$root/root/said" >&2
root=$fresh
rm -rf --one-file-system "$work/container"

say "systemd as the first process"
status=0
"$guest_parts/fetch" || status=$?
if [ "$status" = 77 ]; then
  say "This was left out, for the reason above."
  exit "$failed"
fi
[ "$status" = 0 ] || exit "$status"
cp -r "$top/contrib/examples/recipes" "$top/contrib/packaging/systemd/plain" "$root/srv"
readme_block 'systemctl --user enable --now netwatch-log' >"$root/srv/keep-a-log"
copy_modules "$root" veth
ln -s /lib/systemd/systemd "$root/init"
# The first unit would write to the console, and the second one needs a module that is missing.
for unit in getty.target proc-sys-fs-binfmt_misc.automount; do ln -s /dev/null "$root/etc/systemd/system/$unit"; done
# Making the index of all manual pages takes long in the guest.
rm -f "$root/var/lib/man-db/auto-update"
install -m 644 "$guest_parts/script.service" "$root/etc/systemd/system"
ln -s ../script.service "$root/etc/systemd/system/multi-user.target.wants/"
unneeded=()
for path in /usr/share/{doc,locale,fish,zsh,perl,i18n} '/usr/share/man/??' '/usr/lib/*/'{perl,gconv} /var/{cache,lib/apt}; do
  unneeded+=(-path ".$path" -prune -o)
done
pack_tree "$root" "$work/files" "${unneeded[@]}"
"$guest_parts/boot" "$work/files" <"$top/contrib/guest/systemd-script.sh" || failed=1
