import ArgumentParser
import Netwatch
import NetwatchLines

/// The options for a probe of the internet, which asks a server of the user's choice.
struct ProbeOptions: SharedOptions {
  @Option(
    help: ArgumentHelp(
      "Also ask this URL whether the internet is there, over the interface that carries the traffic. \(proof)",
      in: ["open": "Ask this URL, over the interface that carries the traffic. \(proof)"], valueName: "url"),
    transform: { try checked(url: $0) })
  var probe: String?

  @Option(
    name: .customLong("probe-expect"),
    help: ArgumentHelp(
      "With --probe, expect status 200 with a body that begins with this text.", valueName: "text",
      visibility: .rare(notIn: "snippet")))
  var expectation: String?

  @Option(
    name: .customLong("probe-interval"),
    help: ArgumentHelp(
      "With --follow or wait, repeat the request of --probe this often, and at least every 10 seconds while the internet "
        + "does not answer. 0: ask only at the start, when the path changes, and after a suspend. Default: 300.",
      valueName: "seconds", visibility: .rare(notIn: "status", "explain", "open", "snippet")),
    transform: Duration.init(seconds:))
  var interval: Duration?

  @Option(
    name: .customLong("probe-timeout"),
    help: ArgumentHelp(
      "With --probe, wait at most this long for the answer. Default: 10.", valueName: "seconds",
      visibility: .rare(notIn: "snippet")),
    transform: Duration.init(seconds:))
  var timeout: Duration?

  private static let proof =
    "The answer must be status 204, or 200 with an empty body. A redirect or another page counts as a login page; an error "
    + "such as 404 proves nothing."

  /// `--probe` if it was given, otherwise nil. The other options belong to it.
  var given: String? { probe == nil ? nil : "--probe" }

  /// The shortest interval. Shorter ones would only put load on the machine and the server.
  private static let shortestInterval = Duration.milliseconds(100)
  /// The longest expected text in bytes, which is as much as `netwatch-http` reads.
  private static let longestExpectation = 1_024

  mutating func validate() throws {
    if let interval, interval != .zero, interval < Self.shortestInterval {
      throw ValidationError("--probe-interval needs 0, or 0.1 or more.")
    }
    if timeout == .zero { throw ValidationError("--probe-timeout needs more than 0.") }
    if let expectation, expectation.isEmpty || expectation.utf8.count > Self.longestExpectation {
      throw ValidationError("--probe-expect takes a text of 1 to \(Self.longestExpectation) bytes.")
    }
    guard probe == nil else { return }
    if expectation != nil { throw ValidationError("--probe-expect belongs to --probe; add --probe.") }
    if interval != nil {
      throw ValidationError("--probe-interval is for --probe with --follow or wait; leave --probe-interval out.")
    }
    if timeout != nil { throw ValidationError("--probe-timeout belongs to --probe; add --probe.") }
  }

  /// Throws a `ValidationError` if `--probe-interval` was given, because a command that prints one line asks once.
  func refuseInterval() throws {
    if interval != nil {
      throw ValidationError("--probe-interval belongs to --follow and wait, which ask more than once; leave it out.")
    }
  }

  /// The settings of the probe; nil if there is none.
  var settings: ProbeSettings? {
    guard let probe else { return nil }
    var settings = ProbeSettings(
      url: probe, expectation: expectation, userAgent: "netwatch/\(NetwatchTool.configuration.version)")
    if let interval { settings.interval = interval }
    if let timeout { settings.timeout = timeout }
    return settings
  }

  private static func checked(url text: String) throws -> String {
    let scheme = ["http://", "https://"].first { text.lowercased().hasPrefix($0) }
    let rest = text.dropFirst(scheme?.count ?? 0)
    let isClean = text.unicodeScalars.allSatisfy { 0x20 < $0.value && $0.value < 0x7f }
    guard scheme != nil, isClean, let first = rest.first, !"/?#:@".contains(first) else {
      throw ValidationError("'\(text.harmless)' is no URL; write one such as http://example.org/generate_204.")
    }
    return text
  }
}
