import Netwatch
import NetwatchLines

/// The options for a probe of the internet, which asks a server of the user's choice.
struct ProbeOptions {
  /// The longest expected text in bytes, which is as much as `netwatch-http` reads.
  static let longestExpectation = 1_024
  /// The shortest interval. Shorter ones would only put load on the machine and the server.
  static let shortestInterval = Duration.milliseconds(100)

  var url: String?
  var expectation: String?
  var interval: Duration?
  var timeout: Duration?

  /// The settings of the probe; nil if there is none.
  var settings: ProbeSettings? {
    guard let url else { return nil }
    var settings = ProbeSettings(
      url: url, expectation: expectation, userAgent: "netwatch/\(NetwatchVersion.text)")
    if let interval { settings.interval = interval }
    if let timeout { settings.timeout = timeout }
    return settings
  }

  /// Reads the value of `--probe`.
  @Sendable static func url(_ text: String) throws(PlainError) -> String {
    let scheme = ["http://", "https://"].first { text.lowercased().hasPrefix($0) }
    let rest = text.dropFirst(scheme?.count ?? 0)
    let isClean = text.unicodeScalars.allSatisfy { 0x20 < $0.value && $0.value < 0x7f }
    guard scheme != nil, isClean, let first = rest.first, !"/?#:@".contains(first) else {
      throw PlainError("'\(text.harmless)' is no URL; write one such as http://example.org/generate_204.")
    }
    return text
  }
}
