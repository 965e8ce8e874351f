# Restarts the guest 20 times in the middle of transfers, without a word to its file system, and compares every byte at the end.
# Fifteen minutes, without root and without KVM; what `verify guest` needs the first time. ARGUMENT: how many restarts.
#
# nginx, netwatch and the files are on one disk, ext4, which outlives the guest. What the kernel has not yet written to the disk
# is lost at each restart.
. "$top/contrib/guest/common.sh"
"$guest_parts/fetch"
need_packages e2fsprogs
rmdir "$work"
work=$(mktemp -d "$guest_folder/run.XXXXXX")
nginx=$(folder_of_program nginx usr/sbin/nginx)/nginx
netwatch=$("$top/contrib/release" --shared | tail -n 1)
"$guest_parts/pack" "$work/files" "$netwatch" "$netwatch-http" "$nginx" "$(type -P cmp)" "$(type -P head)"

# The disk has what is served: three files, and the configuration of the server.
mkdir -p "$work/disk/served" "$work/disk/got" "$work/disk/nginx"
for name in a b c; do head -c 12000000 /dev/urandom >"$work/disk/served/$name"; done
cat >"$work/disk/nginx.conf" <<'END'
user root; daemon on; pid /run/nginx.pid; error_log /run/nginx.error;
events {}
http {
  access_log /mnt/nginx/log; client_body_temp_path /run/body; proxy_temp_path /run/proxy; fastcgi_temp_path /run/fastcgi;
  uwsgi_temp_path /run/uwsgi; scgi_temp_path /run/scgi;
  server { listen 80; root /mnt/served; limit_rate 150k; }
}
END
mkfs.ext4 -q -d "$work/disk" "$work/image" 256M
export NETWATCH_GUEST_DISK=$work/image

# What the guest does: it starts what is there, and dies after some seconds unless all is done.
script() {
  cat <<END
modprobe virtio_pci; modprobe virtio_blk; modprobe ext4
until [ -b /dev/vda ]; do sleep 0.1; done
mkdir /mnt
mount /dev/vda /mnt
export XDG_STATE_HOME=/mnt/state HOME=/mnt
netwatch=$netwatch
$nginx -c /mnt/nginx.conf -e /run/nginx.error
until (: </dev/tcp/127.0.0.1/80) 2>/dev/null; do sleep 0.1; done
cd /mnt/got
if [ -e /mnt/state ]; then \$netwatch transfers resume; else \$netwatch get -q --later http://127.0.0.1/{a,b,c}; sync; fi
end=\$((SECONDS + $1))
while [ \$SECONDS -lt \$end ]; do
  said=\$(\$netwatch transfers)
  [ "\$(grep -c ' done$' <<<"\$said")" = 3 ] && break
  sleep 0.2
done
echo "\$said"
if [ "\$(grep -c ' done$' <<<"\$said")" != 3 ]; then
  echo b >/proc/sysrq-trigger
  sleep 60
fi
for name in a b c; do cmp \$name /mnt/served/\$name || exit 1; done
[ "\$(ls -A)" = "\$(printf 'a\nb\nc')" ] || { ls -A; exit 1; }
[ "\$(\$netwatch transfers --json | wc -l)" = 3 ] || exit 1
echo "resumed: \$(grep -c ' 206 ' /mnt/nginx/log)"
umount -l /mnt
exit 0
END
}

restarts=${1:-20}
for restart in $(seq "$restarts"); do
  status=0
  script $((RANDOM % 5 + 1)) | "$guest_parts/boot" "$work/files" >"$work/said" 2>&1 || status=$?
  say "restart $restart: $(tr -d '\r' <"$work/said" | grep -E '%|done|wait|again' | sed -E 's/ +/ /g; s/\[[^]]*\]//' | paste -sd ';')"
  [ "$status" = 125 ] || break
done
expect "the guest has restarted $restart times" test "$restart" -ge "$((restarts > 3 ? 3 : restarts))"
[ "$status" != 125 ] || { script 600 | "$guest_parts/boot" "$work/files" >"$work/said" 2>&1 && status=0 || status=$?; }
expect "every file is exact to the byte, and there are three ends" test "$status" = 0
say "$(tail -n 3 "$work/said" | tr -d '\r')"
