# Tries the archive for any Linux on Debian 11, 12 and 13, and with each libcurl that netwatch-http must refuse.
# As root, a minute; the first time six, and 400 MB that stay in ~/.cache/netwatch. ARGUMENT: an archive of contrib/package archive.
#
# Downloads over HTTP and TLS, probes and the log must work on Debian 12 and 13. On Debian 11, without libcurl, and with
# each libcurl whose TLS netwatch-http cannot judge, netwatch must print one sentence, exit with 2 and make no
# connection. The uninstaller must remove what the archive's list names, and nothing else.
be_root "make a Debian to unpack the archive on"
need_packages mmdebstrap openssl gcc libc6-dev libcurl4-openssl-dev util-linux
cache=${XDG_CACHE_HOME:-$HOME/.cache}/netwatch/roots
archive=${1:-$("$top/contrib/package" archive | sed -n 1p)}
[ -f "$archive" ] || die "there is no file '$archive'; contrib/package archive prints the right one."
archive=$(realpath "$archive")

# inventory: prints what is in /usr/local, folders with a slash at the end.
inventory() { (cd "$root/usr/local" && find . -type d -printf '%P/\n' -o -printf '%P\n') | sort; }

# make_root SUITE PACKAGE…: makes the root of a small Debian, or unpacks it from the cache.
make_root() {
  local mirror
  root=$work/$1
  if [ ! -f "$cache/$1.tar" ]; then
    say "Fetching Debian's $1"
    mkdir -p "$cache"
    mirror=$(debian_archive)
    apt_settings "$work/apt.conf"
    mmdebstrap --quiet --variant=essential --aptopt="$work/apt.conf" \
      --include="iproute2,busybox,ca-certificates,openssl,libcurl3-gnutls,${*:2}" \
      "$1" "$cache/$1.new.tar" "deb $mirror $1 main" || die "mmdebstrap could not make Debian's $1; see above."
    mv "$cache/$1.new.tar" "$cache/$1.tar"
  fi
  mkdir "$root"
  tar -xf "$cache/$1.tar" -C "$root"
  install -m 755 "$work/in-network" "$root/usr/local/bin"
  inventory >"$work/before"
  tar -xzf "$archive" -C "$root/usr/local" --strip-components 1
  mkdir "$root/srv/plain" "$root/srv/tls"
  cp "$work/body" "$root/srv/plain/file"
  echo yes >"$root/srv/plain/yes"
  cp "$work"/{leaf,other}.{pem,key} "$work/ca.pem" "$root/srv"
  # The TLS server (openssl s_server) sends this file as it is, so the file contains a whole response.
  printf 'HTTP/1.1 200 OK\r\nContent-Length: %s\r\nConnection: close\r\n\r\n' "$(stat -c %s "$work/body")" |
    cat - "$work/body" >"$root/srv/tls/file"
}

# inside COMMAND…: runs a command in the root, which is connected by a cable to a machine with web servers.
inside() {
  # shellcheck disable=SC2016 # For the inner shell.
  unshare --mount --net --pid --fork --kill-child bash -c '
    mount --rbind /dev "$0/dev"; mount -t proc proc "$0/proc"; mount -t sysfs sysfs "$0/sys"
    exec chroot "$0" env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin in-network "$@"
  ' "$root" "$@"
}

# in-network COMMAND…: runs a command, and then prints how many connections were made to the servers.
cat >"$work/in-network" <<'SCRIPT'
#!/bin/bash
cd /root || exit 99
unshare --net sleep 600 &
server=$!
here=$(readlink /proc/self/ns/net)
until [ "$(readlink "/proc/$server/ns/net")" != "$here" ]; do sleep 0.02; done
there() { nsenter --target "$server" --net "$@"; }
there ip link set lo up
ip link set lo up
ip link add enp1s0 type veth peer name cable netns "$server"
there ip addr add 192.168.1.1/24 dev cable
there ip link set cable up
ip addr add 192.168.1.23/24 dev enp1s0
ip link set enp1s0 up
until ip -o link show enp1s0 | grep -q 'state UP'; do sleep 0.02; done
ip route add default via 192.168.1.1
(cd /srv/plain && there busybox httpd -f -p 192.168.1.1:80 >/dev/null 2>&1) &
(cd /srv/tls && there openssl s_server -accept 192.168.1.1:443 -cert ../leaf.pem -key ../leaf.key -HTTP >/dev/null 2>&1) &
until [ "$(there ss -Hltn | wc -l)" = 2 ]; do sleep 0.02; done
"$@"
status=$?
echo "connections: $(there awk '/^Tcp: [0-9]/ { print $7 }' /proc/net/snmp)"
exit "$status"
SCRIPT

# ends STATUS CONNECTIONS SENTENCE COMMAND…: checks that a command exits with STATUS after CONNECTIONS connections
# ("some" for any number), and prints only SENTENCE on standard error.
ends() {
  local status=0 connections
  inside "${@:4}" >"$work/output" 2>"$work/error" || status=$?
  cat "$work/output" "$work/error"
  echo "status: $status"
  connections=$(sed -n 's/^connections: //p' "$work/output")
  [ "$status" = "$1" ] && [ -n "$connections" ] || return 1
  if [ "$2" = some ]; then [ "$connections" -gt 0 ]; else [ "$connections" = "$2" ]; fi || return 1
  if [ -z "$3" ]; then [ ! -s "$work/error" ]; else
    [ "$(wc -l <"$work/error")" = 1 ] && grep -qE -e "^netwatch: $3\$" "$work/error"
  fi
}

# gets OPTION… URL: checks that a download succeeds and that every byte is right.
gets() {
  rm -f "$root/root/file"
  ends 0 some '' netwatch get --quiet "$@" && cmp "$root/root/file" "$work/body"
}

# refuses SENTENCE [COMMAND…]: checks that no program of the archive makes a connection. COMMAND, such as env, starts
# the programs.
refuses() {
  rm -f "$root/root/file"
  ends 2 0 "$1" "${@:2}" netwatch get --quiet http://192.168.1.1/file &&
    ends 2 0 "$1" "${@:2}" netwatch get --quiet https://192.168.1.1/file &&
    ends 2 0 "--probe: $1" "${@:2}" netwatch status --probe http://192.168.1.1/yes --probe-expect yes &&
    [ ! -e "$root/root/file" ]
}

# works: checks everything that the archive contains.
works() {
  local url=https://192.168.1.1/file
  expect "gets a file" gets http://192.168.1.1/file
  rm -f "$root/root/file"
  expect "gets a file when the loader resolves all at once" \
    ends 0 some '' env LD_BIND_NOW=1 netwatch get --quiet http://192.168.1.1/file
  rm -f "$root/root/file"
  expect "trusts nobody whom the machine does not" ends 1 some '.*certificate.*' netwatch get --quiet "$url"
  cat "$work/ca.pem" >>"$root/etc/ssl/certs/ca-certificates.crt"
  expect "trusts whom the machine does" gets "$url"
  expect "accepts the pinned key" gets --pin /srv/leaf.pem "$url"
  rm -f "$root/root/file"
  expect "accepts no other key" ends 1 some '.*pin.*' netwatch get --quiet --pin /srv/other.pem "$url"
  expect "probes" sees '"internet":"full"' netwatch status --json --probe http://192.168.1.1/yes --probe-expect yes
  expect "sees a portal" sees '"internet":"portal"' netwatch status --json --probe http://192.168.1.1/yes --probe-expect no
  expect "keeps a log" sees '1 outage' sh -c 'ip link set enp1s0 down; netwatch -f --log --count 1 && netwatch log'
}

# uninstalls: checks that the archive is removed by its own list, after netwatch was used.
uninstalls() {
  local uninstall=/usr/local/lib/netwatch/uninstall wants=$root/etc/systemd/system/sockets.target.wants
  installed() { inventory | comm -13 "$work/before" - | grep -v '/$'; }
  expect "lists its files" diff <(installed) "$root/usr/local/lib/netwatch/files"
  expect "is not removed by a stranger" ends 1 0 "you may not remove files from '/usr/local/bin'; run: sudo '$uninstall'" \
    setpriv --reuid=12345 --regid=12345 --clear-groups "$uninstall"
  mkdir -p "$wants" "$root/etc/netwatch"
  echo link-local >"$root/etc/netwatch/rules"
  ln -s /usr/local/lib/systemd/system/netwatch.socket "$wants"
  expect "is not removed while a unit is enabled" \
    ends 1 0 'netwatch.socket is enabled; first run: sudo systemctl disable --now netwatch.socket' "$uninstall"
  rm "$wants/netwatch.socket"
  expect "is complete until then" diff <(installed) "$root/usr/local/lib/netwatch/files"
  expect "is removed" ends 0 0 '' "$uninstall"
  expect "leaves what was there before" diff "$work/before" <(inventory)
  expect "leaves the log and the rules" test -s "$root/root/.local/state/netwatch/log.sqlite" -a -s "$root/etc/netwatch/rules"
}

# sees TEXT COMMAND…: checks that a command succeeds and prints TEXT.
sees() {
  inside "${@:2}" >"$work/output" 2>&1 || { cat "$work/output" && return 1; }
  grep -qF -e "$1" "$work/output" || { cat "$work/output" && return 1; }
}

# empty FILE [LIBRARY…]: makes an empty library with the name of FILE, which is linked to these libraries.
empty() {
  gcc -shared -nostdlib "-Wl,-soname,${1##*/}" -Wl,--no-as-needed -Wl,--allow-shlib-undefined -o "$1" \
    -x c /dev/null -x none "${@:2}"
}

# fake NAME VERSION TLS LIBRARY…: makes a libcurl in /srv/NAME that reports VERSION and TLS and is linked to these
# libraries. It could make requests, with the functions of the machine's libcurl. With -DINSIDE, it calls an OpenSSL of
# its own.
fake() {
  local folder=$root/srv/$1
  mkdir -p "$folder"
  cat >"$work/fake.c" <<'SOURCE'
#include <curl/curl.h>
curl_version_info_data *curl_version_info(CURLversion age) {
  static curl_version_info_data data = {.age = CURLVERSION_NOW, .version = VERSION, .version_num = NUMBER, .ssl_version = TLS};
  (void)age;
  return &data;
}
#ifdef INSIDE
#define OWN __attribute__((visibility("hidden")))
OWN void SSL_CTX_new(void) {}
OWN void X509_verify_cert(void) {}
#else
void SSL_CTX_new(void), X509_verify_cert(void);
#endif
void speak_tls(void) {
  SSL_CTX_new();
  X509_verify_cert();
}
SOURCE
  empty "$folder/libmachine.so"
  # shellcheck disable=SC2046,SC2086 # The compiler's options, and the numbers of the version.
  empty "$folder/libcurl.so.4" -fPIC $(pkg-config --cflags libcurl) "-DVERSION=\"$2\"" "-DTLS=\"$3\"" \
    "-DNUMBER=$(printf '0x%02x%02x%02x' ${2//./ })" "$work/fake.c" "${@:4}" "$folder/libmachine.so"
  cp -L "$libraries/libcurl.so.4" "$folder/libmachine.so"
}
with() { echo "LD_LIBRARY_PATH=/srv/$1"; }

say "What the servers have"
head -c 300000 /dev/urandom >"$work/body"
for name in ca other; do
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 -keyout "$work/$name.key" -out "$work/$name.pem" \
    -subj "/CN=$name" -addext basicConstraints=critical,CA:TRUE 2>/dev/null
done
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/leaf.key" -out "$work/leaf.csr" \
  -subj /CN=leaf 2>/dev/null
openssl x509 -req -in "$work/leaf.csr" -CA "$work/ca.pem" -CAkey "$work/ca.key" -days 9 \
  -extfile <(echo subjectAltName=IP:192.168.1.1) -out "$work/leaf.pem" 2>/dev/null

say "Debian 11, whose glibc and libcurl are too old"
make_root bullseye libcurl4
expect "refuses" \
  refuses 'netwatch-http needs glibc 2\.[0-9]+ or later, and this one is older; use a newer release of this distribution'
expect "does all else" sees '"event":"initial"' netwatch status --json
expect "keeps a log" sees '1 outage' sh -c 'ip link set enp1s0 down; netwatch -f --log --count 1 && netwatch log'
rm -rf --one-file-system "$root"

say "Debian 13"
make_root trixie libcurl4t64
works
uninstalls
rm -rf --one-file-system "$root"

say "Debian 12"
make_root bookworm libcurl4
works
libraries=$(echo "$root"/usr/lib/*-linux-gnu)
wanted="libcurl 7\.87 or later that uses the machine's OpenSSL 3"
version=$(chroot "$root" openssl version | cut -d ' ' -f 2)
linked=("$libraries/libssl.so.3" "$libraries/libcrypto.so.3")

fake old-tls 7.88.1 OpenSSL/1.1.1w "${linked[@]}"
expect "refuses another OpenSSL" refuses "netwatch-http needs $wanted; this one is libcurl 7.88.1 with OpenSSL/1.1.1w" \
  env "$(with old-tls)"
fake old 7.86.0 "OpenSSL/$version" "${linked[@]}"
expect "refuses an older libcurl" refuses "netwatch-http needs $wanted; this one is libcurl 7.86.0 with OpenSSL/$version" \
  env "$(with old)"
fake several 8.5.0 "OpenSSL/$version (GnuTLS/3.7.9)" "${linked[@]}"
expect "refuses a libcurl that can change its TLS" \
  refuses "netwatch-http needs $wanted; this one is libcurl 8.5.0 with .*GnuTLS.*" env "$(with several)"
# The libraries that this libcurl brings are linked to the machine's OpenSSL, but the libcurl itself is not.
mkdir "$root/srv/static"
empty "$root/srv/static/libthird.so" "${linked[@]}"
fake static 8.5.0 "OpenSSL/$version" -DINSIDE "$root/srv/static/libthird.so"
expect "refuses a libcurl with OpenSSL inside" refuses "netwatch-http needs $wanted; this one, libcurl 8.5.0, has OpenSSL inside" \
  env "$(with static)"
fake both 8.5.0 "OpenSSL/$version" -DINSIDE "${linked[@]}"
expect "refuses one that is linked to the machine's OpenSSL as well" \
  refuses "netwatch-http needs $wanted; this one, libcurl 8.5.0, has OpenSSL inside" env "$(with both)"
fake other-version 8.5.0 OpenSSL/3.99.0 "${linked[@]}"
expect "refuses a libcurl that uses another OpenSSL 3" refuses "netwatch-http needs $wanted; this one, .*, uses another than .*" \
  env "$(with other-version)"
# This libcurl brings a second libssl, whose functions are found before those of the first one.
mkdir "$root/srv/two"
echo 'void SSL_CTX_new(void) {}' >"$work/two.c"
empty "$root/srv/two/libssl.so.81" -fPIC "$work/two.c"
fake two 8.5.0 "OpenSSL/$version" "$root/srv/two/libssl.so.81" "${linked[@]}"
expect "refuses a libcurl with two OpenSSLs" refuses "netwatch-http needs $wanted; this one, .*, brings more than one OpenSSL" \
  env "$(with two)"
fake poor 8.5.0 "OpenSSL/$version" "${linked[@]}"
empty "$root/srv/poor/libmachine.so"
expect "refuses a libcurl that lacks functions" refuses "netwatch-http cannot use libcurl 8.5.0 .* lacks the function curl_.*" \
  env "$(with poor)"
# This library has a function with a name of OpenSSL's, which is found before OpenSSL's own.
empty "$root/srv/before.so" -fPIC "$work/two.c"
expect "refuses a libcurl whose functions of OpenSSL are replaced" \
  refuses "netwatch-http needs $wanted; this one, .*, uses another than .*" env LD_PRELOAD=/srv/before.so
mkdir "$root/srv/gnutls"
cp -L "$libraries/libcurl-gnutls.so.4" "$root/srv/gnutls/libcurl.so.4"
expect "refuses a libcurl with GnuTLS" refuses "netwatch-http needs $wanted; this one is libcurl .* with GnuTLS/.*" \
  env "$(with gnutls)"
rm "$libraries"/libcurl.so.4*
expect "refuses where only another libcurl is" \
  refuses "netwatch-http cannot be started without libcurl: libcurl.so.4: cannot open .*; install $wanted .*Debian.*"
expect "follows without an answer" sees 'netwatch: --probe: netwatch-http cannot be started without libcurl' \
  sh -c 'timeout 2 netwatch -f --probe http://192.168.1.1/yes; [ $? = 124 ]'

say "No glibc"
# Swift's runtime needs /proc. Everything else is missing.
mkdir -p "$work/bare/proc"
tar -xzf "$archive" -C "$work/bare" --strip-components 1
# bare COMMAND…: checks that netwatch refuses COMMAND with a sentence.
bare() {
  local status=0
  # shellcheck disable=SC2016 # For the inner shell.
  unshare --mount --net bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" /bin/netwatch "$@"' "$work/bare" "$@" \
    >"$work/output" 2>&1 || status=$?
  cat "$work/output"
  [ "$status" = 2 ] && grep -q '^netwatch: netwatch-http needs glibc, which is not here; the rest .* without it$' "$work/output"
}
expect "refuses" bare get http://192.168.1.1/file
