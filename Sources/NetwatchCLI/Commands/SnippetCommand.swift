import Netwatch
import NetwatchEventLoop

/// `netwatch snippet`: prints the configuration of a status bar.
struct SnippetCommand {
  let options: ParsedOptions

  /// The characters that are special neither in a shell, nor in JSON, nor in any bar's configuration.
  static let plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/._~=+,@-"

  func run() throws -> ProcessEnding {
    var words = options.watch.traffic ? ["--traffic"] : []
    if let interval = options.watch.trafficInterval { words += ["--traffic-interval", "\(interval / .seconds(1))"] }
    if let units = options.units { words += ["--units", units.rawValue] }
    if let bar = options.bar {
      try StandardOutput().write(bar.snippet(with: words, probing: options.watch.probe.url) + "\n")
    }
    return .exited(0)
  }
}
