# Runs the tests of HTTP and netlink with the libcurl, OpenSSL and libnl of other releases of Debian.
# As root, five minutes for each release, and 150 MB. ARGUMENTS: releases; otherwise bullseye, trixie, forky and sid.
#
# With bullseye's libraries, only libnl is tested, because bullseye's OpenSSL is older than netwatch needs, and without
# LibnlOracleTests, which call functions that libnl 3.4 does not have. netwatch itself calls none of these functions.
#
# NETWATCH_LIBRARY_TESTS   the tests. Default: those of the modules, and those of the programs that use one of these
#                          libraries
be_root "make a Debian for each release"
need_packages mmdebstrap iproute2 util-linux
releases=("$@")
[ $# != 0 ] || releases=(bullseye trixie forky sid)
netlink='^(NetwatchNetlinkTests|NetwatchResolverTests|IntegrationTests\.(ReachabilityTests|TunnelTests|InterfaceMediumTests|ExplainTests))\b'
all="$netlink|^(NetwatchHTTPTests|IntegrationTests\.(GetTests|GetSecurityTests|ProbeTests|ProbeCommandTests|HTTPActivityTests))\b"
netlink=${NETWATCH_LIBRARY_TESTS:-$netlink}
all=${NETWATCH_LIBRARY_TESTS:-$all}
build_tests
archive=$(debian_archive)
apt_settings "$work/apt.conf"

# make_root RELEASE: makes a Debian with the programs that the tests run.
make_root() {
  local packages=ca-certificates,libcurl4t64,libssl3t64,libnl-route-3-200,libcares2,libidn2-0,libsqlite3-0,zlib1g,libstdc++6
  packages+=,nginx-light,squid,microsocks,openssl,curl,nodejs,python3,iproute2,dnsmasq-base,procps,util-linux,mount,bsdutils
  mmdebstrap --quiet --variant=apt --aptopt="$work/apt.conf" --include=$packages "$1" "$work/$1" "deb $archive $1 main" &&
    echo '127.0.0.1 localhost' >"$work/$1/etc/hosts"
}

# add_xml RELEASE: adds the libraries that Swift's Foundation is linked to, which the release may have under another
# name.
add_xml() {
  local library
  mkdir -p "$work/$1/xml"
  for library in libxml2.so.2 libicuuc.so.72 libicudata.so.72; do
    [ -e "$work/$1/usr/lib/$(uname -m)-linux-gnu/$library" ] ||
      cp -L "/usr/lib/$(uname -m)-linux-gnu/$library" "$work/$1/xml"
  done
}

# run_in RELEASE FILTER: runs the tests on that Debian.
run_in() { tested_in "$work/$1" env LD_BIND_NOW=1 LD_LIBRARY_PATH=/xml python3 contrib/test.d/run.py "$tests" "$2"; }

# run_beside RELEASE FILTER: runs the tests on this machine, whose loader finds the release's libraries first.
run_beside() {
  (
    cd "$top" && export LD_LIBRARY_PATH="$work/$1/libraries" &&
      LD_BIND_NOW=1 "$programs/netwatch" --version && python3 contrib/test.d/run.py "$tests" "$2"
  )
}

# fetch_libnl RELEASE: fetches only libnl, of a release whose other libraries do not fit.
fetch_libnl() {
  local root=$work/$1 package
  mkdir -p "$root/lists/partial" "$root/packages" "$root/libraries"
  echo "deb $archive $1 main" >"$root/sources.list"
  # The status is empty because the packages that are installed here are newer, and would be preferred.
  local as_release=(-o "Dir::Etc::SourceList=$root/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$root/lists"
    -o Dir::State::status=/dev/null -o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache= -o APT::Sandbox::User=root)
  apt-get "${as_release[@]}" update -qq &&
    (cd "$root/packages" && apt-get "${as_release[@]}" download -qq libnl-3-200 libnl-route-3-200) || return
  for package in "$root"/packages/*.deb; do dpkg-deb -x "$package" "$root/files" || return; done
  find "$root/files" -name '*.so.*' -exec cp -L -t "$root/libraries" {} +
}

for release in "${releases[@]}"; do
  log=$work/$release.log
  status=0
  if [ "$release" = bullseye ]; then
    fetch_libnl "$release" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "libnl of $release cannot be had."; }
    what="libnl $(dpkg-deb -f "$work/$release"/packages/libnl-3-200_*.deb Version)"
    run_beside "$release" "${netlink/NetwatchNetlinkTests/NetwatchNetlinkTests\\.(?!LibnlOracle)}" >>"$log" 2>&1 || status=$?
  else
    make_root "$release" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "a root of $release cannot be made."; }
    add_xml "$release"
    # shellcheck disable=SC2016 # For dpkg-query.
    what=$(dpkg-query --root="$work/$release" -W -f '${Package} ${Version}, ' libcurl4t64 libssl3t64 libnl-3-200)
    run_in "$release" "$all" >>"$log" 2>&1 || status=$?
  fi
  if [ "$status" = 0 ]; then
    say "ok      $release: ${what%, }: $(tail -n 1 "$log")"
  else
    grep -A 12 '^FAILED' "$log" >&2 || tail -n 20 "$log" >&2
    say "FAILED  $release: ${what%, }"
    failed=1
  fi
  rm -rf --one-file-system "${work:?}/$release"
done
