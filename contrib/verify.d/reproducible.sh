# Builds the packages twice, in clean clones, by two users: they have the same bytes.
# As root, because of the other user; ten minutes. ARGUMENT: deb or archive; otherwise both.
#
# The folders have names of different lengths. The users have different homes, time zones, languages and umasks. The
# check prints which files differ.
be_root "let another user build, too"
need_packages util-linux
one=$work/one/netwatch
other=$work/another/folder/with-a-longer-name
name=somebody-else id=42424
git clone --quiet "$top" "$one"
git clone --quiet "$top" "$other"
mkdir -p "$work/home/tmp" "$work/tmp"
# git fetches from a folder only if its owner is the user who reads it, or if it is told to.
git config --file "$work/home/.gitconfig" safe.directory '*'
cp /etc/passwd "$work/passwd"
printf '%s:x:%s:%s::%s:/bin/bash\n' "$name" "$id" "$id" "$work/home" >>"$work/passwd"
chown -R "$id:$id" "$work/another" "$work/home"

say "Building as $(id -un) in $one"
(umask 022 && cd "$one" && TMPDIR=$work/tmp TZ=UTC LC_ALL=C.UTF-8 contrib/package "${1:-all}") >"$work/paths" 2>"$work/log" || { tail -n 20 "$work/log" >&2; exit 1; }
say "Building as $name in $other"
# shellcheck disable=SC2016 # For the inner shell.
unshare --mount bash -c 'mount --bind "$1/passwd" /etc/passwd && cd "$2" &&
  exec setpriv --reuid "$3" --regid "$3" --clear-groups env -i HOME="$1/home" TMPDIR="$1/home/tmp" USER="$4" PATH="$PATH" TZ=Asia/Tokyo LC_ALL=C \
    bash -c "umask 077 && exec contrib/package \"\$1\"" - "$5"' \
  - "$work" "$other" "$id" "$name" "${1:-all}" >"$work/paths-there" 2>"$work/log" || { tail -n 20 "$work/log" >&2; exit 1; }

# unpacked FILE FOLDER: unpacks a package, an archive or a single file into FOLDER.
unpacked() {
  mkdir -p "$2"
  case $1 in
  *.deb) dpkg-deb --raw-extract "$1" "$2/files" ;;
  *.tar.gz) tar -xzf "$1" -C "$2" ;;
  *) cp "$1" "$2" ;;
  esac
}
[ "$(wc -l <"$work/paths")" = "$(wc -l <"$work/paths-there")" ] || die "the two builds have made different lists of files."
while read -r path <&3 && read -r there <&4; do
  sum=$(sha256sum "$path" | cut -d ' ' -f 1)
  if [ "$sum" = "$(sha256sum "$there" | cut -d ' ' -f 1)" ]; then
    say "  ok      $sum  $(basename "$path")"
  else
    say "  FAILED  $(basename "$path") has other bytes there, in:"
    rm -rf "$work/here" "$work/there"
    unpacked "$path" "$work/here"
    unpacked "$there" "$work/there"
    { diff -rq --no-dereference "$work/here" "$work/there" || true; } | sed 's/^/            /' >&2
    diff <(cd "$work/here" && find . -printf '%M %p\n' | sort) <(cd "$work/there" && find . -printf '%M %p\n' | sort) >&2 || true
    failed=1
  fi
done 3<"$work/paths" 4<"$work/paths-there"
