import ArgumentParser
import Netwatch
import NetwatchLines
import NetwatchNetlink
import NetwatchStream

/// The options for what counts as in flight.
struct ActivityOptions: SharedOptions {
  @Option(
    help: ArgumentHelp(
      "\(kinds) If a service runs, its own --activity applies instead. Default: requests.",
      in: [
        "serve":
          "\(kinds) The clients of the service show this count, whatever their own --activity. Default: requests."
      ],
      valueName: "what"), transform: ServiceIdentity.Counts.init(argument:))
  var activity = ServiceIdentity.Counts.requests

  @Option(
    name: .customLong("activity-ignore"), parsing: .singleValue,
    help: ArgumentHelp(
      "Do not count TCP and UDP with this port, to this address or range such as 10.0.0.0/8, or of this "
        + "program. May be repeated.", valueName: "what"),
    transform: ConnectionExclusion.init(argument:))
  var exclusions: [ConnectionExclusion] = []

  @Option(
    name: .customLong("activity-interval"),
    help: ArgumentHelp("Look at the TCP connections this often. Default: 0.5.", valueName: "seconds"),
    transform: Duration.init(seconds:))
  var interval: Duration?

  @Option(
    name: .customLong("activity-patience"),
    help: ArgumentHelp(
      "Do not count a TCP connection any more when it has waited this long for an answer, as a long "
        + "poll does. Default: 30.", valueName: "seconds"
    ), transform: Duration.init(seconds:))
  var patience: Duration?

  private static let kinds =
    "Count as in flight: requests (those that programs announce to the service), tcp (connections of all programs), udp (an "
    + "estimate), all (requests,tcp), or several such as tcp,udp."

  /// `--activity` if it was given, otherwise nil. The other options belong to it.
  var given: String? { activity != .requests ? "--activity" : nil }

  mutating func validate() throws { _ = try settings }

  /// Throws a `ValidationError` if UDP is counted, because one look does not show what flows.
  func refuseEstimates() throws {
    if activity.contains(.udp) {
      throw ValidationError("--activity udp takes more than one look; use netwatch -f, or leave out udp.")
    }
  }

  var settings: ActivitySettings {
    get throws {
      try PlainError.asUsage { () throws(PlainError) in
        try ActivitySettings(
          counts: activity, exclusions: exclusions, interval: interval, patience: patience, dashes: "--")
      }
    }
  }
}

extension ServiceIdentity.Counts {
  /// Reads the value of `--activity`.
  init(argument text: String) throws {
    guard let counts = Self(text) else {
      throw ValidationError("--activity needs requests, tcp, udp, all, or several of them such as tcp,udp.")
    }
    self = counts
  }
}

extension ConnectionExclusion {
  /// Reads the value of `--activity-ignore`.
  fileprivate init(argument text: String) throws {
    self = try PlainError.asUsage { () throws(PlainError) in try ConnectionExclusion(text) }
  }
}
