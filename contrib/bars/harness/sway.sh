# A screen for the bars of Wayland, which has no pointer. The files of these bars source this file.
unset DISPLAY WAYLAND_DISPLAY SWAYSOCK DBUS_SESSION_BUS_ADDRESS
export XDG_CURRENT_DESKTOP=sway GDK_BACKEND=wayland GTK_A11Y=none NO_AT_BRIDGE=1 GSETTINGS_BACKEND=memory
region=${region:-"0,0 400x24"}

# start_sway [LINE…]: starts sway with these lines in its configuration.
start_sway() {
  rm -f wayland-* sway-ipc.*
  printf '%s\n' 'output HEADLESS-1 resolution 800x60 bg #101010 solid_color' 'xwayland disable' "$@" >sway.config
  WLR_BACKENDS=headless WLR_RENDERER=pixman WLR_LIBINPUT_NO_DEVICES=1 WLR_HEADLESS_OUTPUTS=1 \
    sway -c sway.config >sway.log 2>&1 &
  sway=$!
  within 20 has_sockets || fail "sway does not start"
  WAYLAND_DISPLAY=$(basename "$(compgen -G "$WORK/wayland-*" | grep -v lock | head -n 1)")
  SWAYSOCK=$(compgen -G "$WORK/sway-ipc.*.sock" | head -n 1)
  export WAYLAND_DISPLAY SWAYSOCK
}
has_sockets() { compgen -G "$WORK/wayland-*" >/dev/null && compgen -G "$WORK/sway-ipc.*.sock" >/dev/null; }
stop_sway() {
  kill "$sway" 2>/dev/null || true
  wait "$sway" 2>/dev/null || true
}

see() { grim -t ppm -g "$region" "$1" 2>/dev/null && cp "$1" "$WORK/seen.ppm"; }
keep_picture() { convert "$WORK/seen.ppm" "$WORK/$1.png"; }
# Taking a picture needs some time. The middle of this time counts as the moment of the picture.
watch() {
  local last='' hash before
  while :; do
    before=${EPOCHREALTIME/./}
    hash=$(grim -t ppm -g "$region" - | sha1sum | cut -c 1-16)
    [ "$hash" = "$last" ] || echo "$(((before + ${EPOCHREALTIME/./}) / 2)) $hash"
    last=$hash
  done
}
has_colour() {
  [ "$(convert "$WORK/reference-$1.png" -depth 8 -fill black +opaque "$2" -fill white -opaque "$2" \
    -format '%[fx:round(mean*w*h)]' info:)" -ge 10 ]
}
