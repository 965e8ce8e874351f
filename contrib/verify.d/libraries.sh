# Runs the tests of HTTP and netlink with the libcurl, OpenSSL and libnl of other releases of Debian.
# As root, five minutes for each release, and 150 MB. ARGUMENTS: releases; otherwise bullseye, trixie, forky and sid.
#
# With the libraries of bullseye only libnl is tried, because its OpenSSL is another one than netwatch needs.
#
# NETWATCH_LIBRARY_TESTS   which tests; otherwise those of the modules, and of the programs where they meet a library
be_root "make a Debian for each release"
need_swift
need_packages $build_packages mmdebstrap iproute2 util-linux
releases=("$@")
[ $# != 0 ] || releases=(bullseye trixie forky sid)
netlink=('^(NetwatchNetlinkTests|NetwatchResolverTests)' '^IntegrationTests\.(ReachabilityTests|TunnelTests|InterfaceMediumTests|ExplainTests)')
# Apart, as in contrib/test: integration tests hold Swift's threads, and others run out of time.
all=('^NetwatchHTTPTests' "${netlink[@]}" '^IntegrationTests\.(GetTests|GetSecurityTests|ProbeTests|ProbeCommandTests|HTTPActivityTests)')
if [ -n "${NETWATCH_LIBRARY_TESTS:-}" ]; then
  netlink=("$NETWATCH_LIBRARY_TESTS")
  all=("$NETWATCH_LIBRARY_TESTS")
fi
cd "$top"
swift build --build-tests >&2
programs=$(swift build --show-bin-path)
tests=$(echo "$programs"/*.xctest)
runtime=$(ldd "$tests" | sed -n 's|^.*libswiftCore.so => \(.*\)/[^/]* .*|\1|p')

archive=$(debian_archive)
apt_settings "$work/apt.conf"

# make_root RELEASE: with the programs that the tests run.
make_root() {
  local packages=ca-certificates,libcurl4t64,libssl3t64,libnl-route-3-200,libcares2,libidn2-0,libsqlite3-0,zlib1g,libstdc++6
  packages+=,nginx-light,squid,microsocks,openssl,curl,nodejs,python3,iproute2,dnsmasq-base,procps,util-linux,mount,bsdutils
  mmdebstrap --quiet --variant=apt --aptopt="$work/apt.conf" --include=$packages "$1" "$work/$1" "deb $archive $1 main" &&
    echo '127.0.0.1 localhost' >"$work/$1/etc/hosts"
}

# What Swift's Foundation is linked to, and the release may have under another name.
add_xml() {
  local library
  mkdir -p "$work/$1/xml"
  for library in libxml2.so.2 libicuuc.so.72 libicudata.so.72; do
    [ -e "$work/$1/usr/lib/$(uname -m)-linux-gnu/$library" ] ||
      cp -L "/usr/lib/$(uname -m)-linux-gnu/$library" "$work/$1/xml"
  done
}

# run_in RELEASE FILTER: in a network of its own.
run_in() {
  local root=$work/$1
  mkdir -p "$root$top" "$root$runtime" "$root$programs"
  # shellcheck disable=SC2016 # For the inner shell.
  unshare --mount --pid --fork --kill-child --net bash -c '
    root=$1
    # A root that is no mount has no propagation, which the tests want to change.
    mount --bind "$root" "$root"
    for folder in /dev /sys "$2" "$3" "$4"; do mount --rbind "$folder" "$root$folder"; done
    mount -t proc proc "$root/proc"
    ip link set lo up
    # Not chroot alone: in one, the kernel refuses namespaces of users.
    cd "$root"
    mkdir -p before
    pivot_root . before
    umount -l /before
    # Not exec: the first process has to wait for those whose parents have gone.
    env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin LD_BIND_NOW=1 LD_LIBRARY_PATH=/xml \
      bash -c "cd \"\$0\" && exec \"\$@\"" "$3" "$5" --testing-library swift-testing --filter "$6"
    exit $?
  ' - "$root" "$runtime" "$top" "$programs" "$tests" "$2"
}

# run_beside RELEASE FILTER: as files that this machine's loader finds first.
run_beside() {
  env LD_BIND_NOW=1 LD_LIBRARY_PATH="$work/$1/libraries" "$tests" --testing-library swift-testing --filter "$2"
}

# libnl alone, of a release whose other libraries do not fit.
fetch_libnl() {
  local root=$work/$1 package
  mkdir -p "$root/lists/partial" "$root/packages" "$root/libraries"
  echo "deb $archive $1 main" >"$root/sources.list"
  # An empty status: what is installed here is newer, and would be preferred.
  local as_release=(-o "Dir::Etc::SourceList=$root/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$root/lists"
    -o Dir::State::status=/dev/null -o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache= -o APT::Sandbox::User=root)
  apt-get "${as_release[@]}" update -qq &&
    (cd "$root/packages" && apt-get "${as_release[@]}" download -qq libnl-3-200 libnl-route-3-200) || return
  for package in "$root"/packages/*.deb; do dpkg-deb -x "$package" "$root/files" || return; done
  find "$root/files" -name '*.so.*' -exec cp -L -t "$root/libraries" {} +
}

# run_tests COMMAND RELEASE FILTER…: each goes on where one before has failed.
run_tests() {
  local status=0 filter
  for filter in "${@:3}"; do
    "$1" "$2" "$filter" >>"$work/$2.log" 2>&1 || status=1
  done
  return "$status"
}

for release in "${releases[@]}"; do
  log=$work/$release.log
  status=0
  if [ "$release" = bullseye ]; then
    fetch_libnl "$release" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "libnl of $release cannot be had."; }
    what="libnl $(dpkg-deb -f "$work/$release"/packages/libnl-3-200_*.deb Version)"
    run_tests run_beside "$release" "${netlink[@]}" || status=$?
  else
    make_root "$release" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "a root of $release cannot be made."; }
    add_xml "$release"
    # shellcheck disable=SC2016 # For dpkg-query.
    what=$(dpkg-query --root="$work/$release" -W -f '${Package} ${Version}, ' libcurl4t64 libssl3t64 libnl-3-200)
    run_tests run_in "$release" "${all[@]}" || status=$?
  fi
  tests_run=$(sed -n 's/.*Test run with \([0-9]*\) tests.*passed.*/\1/p' "$log" | awk '{ sum += $1 } END { print sum }')
  if [ "$status" = 0 ]; then
    say "ok      $release: ${what%, }: $tests_run tests"
  else
    grep -aE '^✘|error while loading' "$log" >&2 || tail -n 20 "$log" >&2
    say "FAILED  $release: ${what%, }"
    failed=1
  fi
  rm -rf --one-file-system "${work:?}/$release"
done
