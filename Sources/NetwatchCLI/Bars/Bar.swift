/// A status bar that netwatch writes lines for.
///
/// All other lists of bars are made from ``all``, or a test compares them with it.
struct Bar: Sendable {
  /// The name of the bar in options such as `--format`.
  let name: String
  let format: BarFormat
  /// The piece of the bar's configuration that shows netwatch. `contrib/bars` has the same text and tries it in the real bar.
  let snippet: String
  /// The line of the configuration that runs `COMMAND` at a click, and a text that the line before it contains. Nil if the bar
  /// has no such line.
  let click: (after: String, line: String)?

  init(_ name: String, _ format: BarFormat, _ snippet: String, click: (after: String, line: String)? = nil) {
    self.name = name
    self.format = format
    self.snippet = snippet
    self.click = click
  }

  /// Whether the bar keeps netwatch running and reads a line for each change.
  var isFed: Bool { snippet.contains("--follow") }

  /// Returns the piece of configuration with further options of netwatch.
  ///
  /// - Parameter probe: The URL of a probe of the internet, which also makes a click open a login page; nil for neither. The
  ///   URL must not contain characters that are special in a shell, in JSON or in a bar's configuration.
  func snippet(with options: [String], probing probe: String? = nil) -> String {
    let format = "--format \(name)"
    let probing = probe.map { ["--probe", $0] } ?? []
    let text = snippet.replacing(format, with: ([format] + options + probing).joined(separator: " "))
    guard let probe, let click else { return text }
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.contains(click.after)
        ? line + "\n" + click.line.replacing("COMMAND", with: "netwatch open --probe \(probe)") : String(line)
    }.joined(separator: "\n")
  }

  static var names: [String] { all.map(\.name) }

  static let all = [
    Bar(
      "waybar", .waybar,
      """
      // ~/.config/waybar/config: this module, and "custom/netwatch" in "modules-right"
      "custom/netwatch": {
          "exec": "exec netwatch --follow --format waybar",
          "return-type": "json",
          "restart-interval": 5
      },

      /* ~/.config/waybar/style.css: one of wifi, wired, wwan, bluetooth, virtual, other, offline and unknown;
         and online, vpn, expensive, portal, no-internet and busy while they apply */
      #custom-netwatch { padding: 0 8px; }
      #custom-netwatch.online { color: #56b4e9; }
      #custom-netwatch.vpn { border-bottom: 2px solid #009e73; }
      #custom-netwatch.expensive { color: #e69f00; }
      #custom-netwatch.portal, #custom-netwatch.no-internet { color: #cc79a7; }
      #custom-netwatch.offline { color: #d55e00; }
      #custom-netwatch.unknown { color: #999999; }
      #custom-netwatch.busy { font-weight: bold; }
      """, click: ("return-type", #"    "on-click": "COMMAND","#)),
    Bar(
      "i3bar", .i3bar,
      """
      # ~/.config/i3/config
      bar {
          status_command exec netwatch --follow --format i3bar
      }
      """),
    Bar(
      "swaybar", .i3bar,
      """
      # ~/.config/sway/config
      bar {
          status_command exec netwatch --follow --format swaybar
      }
      """),
    Bar(
      "i3blocks", .i3blocks,
      """
      # ~/.config/i3blocks/config
      [netwatch]
      command=exec netwatch --follow --format i3blocks
      interval=persist
      format=json
      markup=pango
      """),
    Bar(
      "i3status-rust", .i3statusRust,
      """
      # ~/.config/i3status-rust/config.toml
      [[block]]
      block = "custom"
      command = "exec netwatch --follow --format i3status-rust"
      json = true
      persistent = true
      hide_when_empty = true
      """, click: ("hide_when_empty", "[[block.click]]\nbutton = \"left\"\ncmd = \"COMMAND\"")),
    Bar(
      "polybar", .polybar,
      """
      ; ~/.config/polybar/config.ini: this module, and netwatch in modules-right
      [module/netwatch]
      type = custom/script
      exec = exec netwatch --follow --format polybar
      tail = true
      """, click: ("tail =", "click-left = COMMAND")),
    Bar(
      "lemonbar", .lemonbar,
      """
      # ~/.xinitrc; if your lemonbar has another font than its own, leave out --icons ascii
      netwatch --follow --format lemonbar --icons ascii | lemonbar -p &
      """),
    Bar(
      "xmobar", .xmobar,
      """
      -- ~/.config/xmobar/xmobarrc: this in commands, and %netwatch% in template
      Run CommandReader "exec netwatch --follow --format xmobar" "netwatch"
      """),
    Bar(
      "tmux", .tmux,
      """
      # ~/.config/tmux/tmux.conf
      set -g status-right-length 80
      set -g status-right '#(exec netwatch --follow --format tmux) %H:%M'
      """),
    Bar(
      "conky", .conky,
      """
      -- ~/.config/conky/conky.conf: this in conky.text; conky asks, every 2 seconds
      ${execpi 2 netwatch --format conky}
      """),
    Bar(
      "dwm", .plain,
      """
      # ~/.xinitrc, before dwm
      netwatch --follow --format dwm | while IFS= read -r line; do xsetroot -name "$line" || break; done &
      """),
    Bar(
      "screen", .screen,
      """
      # ~/.screenrc
      backtick 1 0 0 netwatch --follow --format screen
      hardstatus alwayslastline '%1`'
      """),
  ]
}
