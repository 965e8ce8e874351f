# Runs all tests on a fresh Debian with many more programs than they need: ping, NetworkManager, dhcpcd, VPN programs, nftables.
# As root, ten minutes; 300 MB from Debian. ARGUMENT: a filter.
#
# No test may behave differently because a program is installed. The tests run in a network namespace in which only
# tests start these programs.
be_root "make a Debian to run the tests on"
build_tests
root=$work/root
say "A fresh Debian"
make_debian "$root" python3,ca-certificates,procps,util-linux,mount,bsdutils,gcc,libc6-dev \
  libcurl4,libssl3,libnl-3-200,libnl-route-3-200,libc-ares2,libidn2-0,libsqlite3-0,zlib1g,libstdc++6,libxml2 \
  nginx-light,squid,microsocks,restic,openssl,curl,wget,nodejs,openssh-client,dropbear-bin,iproute2,dnsmasq-base \
  iputils-ping,iputils-arping,traceroute,network-manager,network-manager-openvpn,dhcpcd-base,isc-dhcp-client,ifupdown \
  openvpn,wireguard-tools,strongswan,openconnect,vpnc,ppp,xl2tpd,nftables,iptables,firewalld,systemd-resolved \
  modemmanager,iwd,wpasupplicant,hostapd,iw,rfkill,avahi-daemon,bind9-dnsutils,bridge-utils,ethtool,tcpdump,netcat-openbsd,socat \
  bash-completion,fish,zsh,tmux,jq,man-db
echo '127.0.0.1 localhost' >"$root/etc/hosts"
say "The tests"
tested_in "$root" python3 contrib/test.d/run.py --strict "$tests" "$@" || failed=1
