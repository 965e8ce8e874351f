/// A ready piece of a bar's configuration; `contrib/bars` has the same, where they are tried in the real bars.
enum Snippet: String, CaseIterable {
  case waybar, swaybar, i3bar, i3blocks
  case i3statusRust = "i3status-rust"
  case polybar, lemonbar, xmobar, tmux, conky, dwm, screen

  var text: String {
    switch self {
    case .waybar:
      """
      // ~/.config/waybar/config: this module, and "custom/netwatch" in "modules-right"
      "custom/netwatch": {
          "exec": "exec netwatch --follow --format waybar",
          "return-type": "json",
          "restart-interval": 5
      },

      /* ~/.config/waybar/style.css */
      #custom-netwatch { padding: 0 8px; }
      #custom-netwatch.online { color: #56b4e9; }
      #custom-netwatch.expensive { color: #e69f00; }
      #custom-netwatch.portal, #custom-netwatch.no-internet { color: #cc79a7; }
      #custom-netwatch.offline { color: #d55e00; }
      """
    case .swaybar:
      """
      # ~/.config/sway/config
      bar {
          status_command exec netwatch --follow --format swaybar
      }
      """
    case .i3bar:
      """
      # ~/.config/i3/config
      bar {
          status_command exec netwatch --follow --format i3bar
      }
      """
    case .i3blocks:
      """
      # ~/.config/i3blocks/config
      [netwatch]
      command=exec netwatch --follow --format i3blocks
      interval=persist
      format=json
      markup=pango
      """
    case .i3statusRust:
      """
      # ~/.config/i3status-rust/config.toml
      [[block]]
      block = "custom"
      command = "exec netwatch --follow --format i3status-rust"
      json = true
      persistent = true
      hide_when_empty = true
      """
    case .polybar:
      """
      ; ~/.config/polybar/config.ini: this module, and netwatch in modules-right
      [module/netwatch]
      type = custom/script
      exec = exec netwatch --follow --format polybar
      tail = true
      """
    case .lemonbar:
      """
      # ~/.xinitrc; a lemonbar with other fonts than its own does without --icons ascii
      netwatch --follow --format lemonbar --icons ascii | lemonbar -p &
      """
    case .xmobar:
      """
      -- ~/.config/xmobar/xmobarrc: this in commands, and %netwatch% in template
      Run CommandReader "exec netwatch --follow --format xmobar" "netwatch"
      """
    case .tmux:
      """
      # ~/.config/tmux/tmux.conf
      set -g status-right-length 80
      set -g status-right '#(exec netwatch --follow --format tmux) %H:%M'
      """
    case .conky:
      """
      -- ~/.config/conky/conky.conf: this in conky.text; conky asks, every 2 seconds
      ${execpi 2 netwatch --format conky}
      """
    case .dwm:
      """
      # ~/.xinitrc, before dwm
      netwatch --follow --format dwm | while IFS= read -r line; do xsetroot -name "$line" || break; done &
      """
    case .screen:
      """
      # ~/.screenrc
      backtick 1 0 0 netwatch --follow --format screen
      hardstatus alwayslastline '%1`'
      """
    }
  }
}
