# Tries the Node.js package with Debian's Node.js, and with another one if that is installed.
# Five minutes. ARGUMENT: the folder that contrib/bindings/c/build has printed.
#
# The package must report that a cable is pulled and plugged in again, and abort a request within 50 ms of a loss.
. "$top/contrib/bindings/world.sh"

if [ "$is_inside" = yes ]; then
  work=$1 package=$2 node=$3 share=$4
  # Debian's Node.js reads some of its modules from /usr/share/nodejs.
  [ -z "$share" ] || mount --bind "$share" /usr/share
  make_world "$work"
  # TypeScript is only beside Debian's own Node.js.
  compiler=/usr/share/nodejs/typescript/lib/tsc.js
  if [ -e "$compiler" ]; then
    cd "$work"
    expect "index.d.ts: fits a program in TypeScript" timeout 120 "$node" "$compiler" --strict --noEmit --module node16 \
      --moduleResolution node16 --preserveSymlinks --typeRoots /usr/share/nodejs/@types --types node types.ts
  fi
  timeout 600 "$node" "$top/contrib/bindings/node/harness/try.js" "$package" || failed=1
  expect "README: its first example runs" "$work/example" "$node"
  exit "$failed"
fi

need_packages gcc libc6-dev pkg-config libuv1-dev iproute2 util-linux coreutils
find_library "$@"
. "$top/contrib/bindings/node/nodes.sh"

short() { [ "$(wc -l <"$1")" -le 220 ] || { wc -l "$1" && false; }; }
builds() { "$top/contrib/bindings/node/build" "$library" >"$work/folder"; }
say "The Node.js package"
expect "netwatch.c: is short" short "$top/contrib/bindings/node/netwatch.c"
expect "the package builds" builds
package=$(tail -n 1 "$work/folder")
mkdir "$work/node_modules"
ln -s "$package" "$work/node_modules/libnetwatch"
cp "$top/contrib/bindings/node/harness/types.ts" "$work"
{
  printf '#!/bin/sh\ncd %s && exec timeout 30 "$1" - <<"END"\n' "$work"
  sed -n '/^```js$/,/^```$/{/^```/!p;/^```$/q}' "$top/contrib/bindings/node/README.md"
  printf 'END\n'
} >"$work/example"
chmod 755 "$work/example"
for node in "${nodes[@]}"; do
  say "Node.js, ${node%% *}"
  in_a_world node "$work" "$package" "${node%% *}" "${node#* }" || failed=1
done
