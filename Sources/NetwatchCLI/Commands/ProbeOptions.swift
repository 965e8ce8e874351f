import Netwatch
import NetwatchLines

/// The options for a probe of the internet, which asks a server of the user's choice.
struct ProbeOptions {
  /// The longest expected text in bytes, which is as much as `netwatch-http` reads.
  static let longestExpectation = 1_024
  /// The shortest interval. Shorter ones would only put load on the machine and the server.
  static let shortestInterval = Duration.milliseconds(100)

  var url: String?
  /// Whether a rule decides about the URL, and not an option.
  var isByRule = false
  var expectation: String?
  var interval: Duration?
  var timeout: Duration?

  /// The settings of the probe; nil if there is none.
  var settings: ProbeSettings? { url.map(settings(asking:)) }

  /// Returns the settings of a probe of this URL.
  func settings(asking url: String) -> ProbeSettings {
    var settings = ProbeSettings(
      url: url, expectation: expectation, userAgent: "netwatch/\(NetwatchVersion.text)")
    if let interval { settings.interval = interval }
    if let timeout { settings.timeout = timeout }
    return settings
  }
}
