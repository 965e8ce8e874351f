# Tries the widgets of NetwatchGTK under Xvfb: spinner, progress bar, picture, refresh button and the banner of a lost network.
# A minute; without ARGUMENT fifteen, as root, and 300 MB. ARGUMENT: short, in one theme, and not also on a fresh Debian with the package.
#
# The first time, the libraries are compiled for it, which takes five minutes on two processors.
#
# NETWATCH_PICTURES  the folder where pictures of the window are kept, light and dark. Default: none
. "$top/contrib/bindings/world.sh"
gtk=$top/contrib/bindings/gtk

# colours COLOUR: prints how many pixels of the screen have this colour.
colours() { import -window root png:- | convert png:- -fill black +opaque "$1" -fill white -opaque "$1" -format '%[fx:int(mean*w*h+0.5)]' info:; }
# shows COLOUR, hides COLOUR: whether a picture of this colour is on the screen.
shows() { [ "$(colours "$1")" -gt 5000 ]; }
hides() { [ "$(colours "$1")" = 0 ]; }
keep() { [ -z "$pictures" ] || import -window root -crop 480x360+0+0 +repage "$pictures/$1.png"; }
# reads PATTERN: reads lines of the trial until one matches.
reads() {
  local line
  while read -r -t 60 line <&5; do
    say "$line"
    [[ $line != *FAILED* ]] || failed=1
    [[ $line != $1 ]] || return 0
  done
  return 1
}

# try_widgets THEME: runs the trial with a theme of GTK.
try_widgets() {
  mkfifo "$work/$1.in" "$work/$1.out"
  GTK_THEME=$1 "$programs/GTKTrial" http://192.168.1.1:8000/ <"$work/$1.in" >"$work/$1.out" 2>"$work/$1.errors" &
  running=$!
  exec 4>"$work/$1.in" 5<"$work/$1.out"
  reads blue || cat "$work/$1.errors" >&2
  expect "the picture is on the screen" within_time shows '#1e50dc'
  keep "$1-picture"
  echo >&4
  reads blue || cat "$work/$1.errors" >&2
  expect "the late picture is not on the screen" hides '#dc2828'
  expect "the new one is" shows '#1e50dc'
  echo >&4
  for press in 1 2; do
    reads press || true
    xdotool key --clearmodifiers space
  done
  reads "banner *" || true
  keep "$1-banner"
  echo >&4
  reads "banner *" || true
  keep "$1-login"
  echo >&4
  reads press || true
  xdotool key --clearmodifiers space
  reads nothing || true
  expect "the trial has passed" ends "$running" 0
  expect "GTK has nothing to complain about" test ! -s "$work/$1.errors"
  cat "$work/$1.errors" >&2
  exec 4>&- 5<&-
}

# try_feed THEME: opens the example, and pulls the cable.
try_feed() {
  GTK_THEME=$1 "$programs/GTKExample" http://192.168.1.1:8000/ >"$work/$1.feed" 2>&1 &
  running=$!
  # The sun of its pictures.
  expect "the feed has pictures" within_time has_sun
  keep "$1-feed"
  pull
  sleep 0.5
  keep "$1-feed-offline"
  plug-in
  kill "$running"
  expect "GTK has nothing to complain about" test ! -s "$work/$1.feed"
}
has_sun() { [ "$(colours '#ffe9a8')" -gt 500 ]; }

if [ "$is_inside" = yes ]; then
  work=$1 programs=$2 themes=$3 pictures=${4:-}
  make_world "$work"
  mkdir -m 700 "$work/run"
  export XDG_RUNTIME_DIR=$work/run HOME=$work DISPLAY=:77 GSK_RENDERER=cairo GTK_A11Y=test GSETTINGS_BACKEND=memory
  # The browser of this desktop.
  mkdir -p "$work/.local/share/applications" "$work/.config"
  printf '[Desktop Entry]\nType=Application\nName=Browser\nExec=curl -s %%u\nMimeType=x-scheme-handler/http\n' \
    >"$work/.local/share/applications/browser.desktop"
  printf '[Default Applications]\nx-scheme-handler/http=browser.desktop\n' >"$work/.config/mimeapps.list"
  rm -f /tmp/.X77-lock /tmp/.X11-unix/X77
  Xvfb :77 -screen 0 640x480x24 -noreset >"$work/display" 2>&1 &
  within_time xwininfo -root >/dev/null 2>&1
  in-router python3 "$gtk/harness/server.py" 192.168.1.1 &
  until in-router ss -Hlt src 192.168.1.1:8000 | grep -q .; do sleep 0.05; done
  for theme in $themes; do
    say "The theme $theme"
    try_widgets "$theme"
    try_feed "$theme"
  done
  exit "$failed"
fi

need_swift
screen="curl xvfb imagemagick x11-utils xdotool adwaita-icon-theme fonts-dejavu-core python3 iproute2"
# shellcheck disable=SC2086 # Several packages, here and below.
need_packages $build_packages libgtk-4-dev util-linux $screen
for product in GTKTrial GTKExample; do swift build --package-path "$gtk" --product $product >&2; done
themes="Default Default:dark"
[ "${1:-}" != short ] || themes=Default
in_a_world gtk "$work" "$(swift build --package-path "$gtk" --show-bin-path)" "$themes" "${NETWATCH_PICTURES:-}" || failed=1
[ "${1:-}" != short ] || exit "$failed"

# A program of somebody else takes NetwatchGTK from the package.
find_toolchain
install_packages usr/share/swift swift-netwatch-dev "$screen mount procps" "${of_toolchain[@]}"
share_toolchain
there=$root/consumer
mkdir -p "$there/Sources"
cp -r "$root/usr/share/swift/netwatch/contrib/bindings/gtk/Sources/"{GTKTrial,GTKExample} "$there/Sources"
mkdir "$there/Sources/Feed"
sed -n '/^```swift$/,/^```$/{/^```/!p;/^```$/q}' "$gtk/README.md" >"$there/Sources/Feed/Feed.swift"
cat >"$there/Package.swift" <<'END'
// swift-tools-version: 6.2
import PackageDescription

let widgets: [Target.Dependency] = [.product(name: "NetwatchGTK", package: "gtk")]
let network: [Target.Dependency] = ["NetwatchHTTP", "NetwatchNetlink"].map { .product(name: $0, package: "netwatch") }
let package = Package(
  name: "consumer",
  dependencies: [
    .package(path: "/usr/share/swift/netwatch/contrib/bindings/gtk"), .package(path: "/usr/share/swift/netwatch"),
  ],
  targets: ["Feed", "GTKExample", "GTKTrial"].map { .executableTarget(name: $0, dependencies: widgets + network) }
)
END
expect "a program with the package's NetwatchGTK is built" \
  inside env PATH="$toolchain/bin:/usr/bin:/bin" swift build --package-path /consumer
root_folders=("$top" "$toolchain")
check_inside gtk /tmp/home /consumer/.build/debug "$themes" ''
purge_packages usr/share/swift swift-netwatch-dev
