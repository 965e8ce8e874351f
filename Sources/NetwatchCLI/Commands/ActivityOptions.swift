import ArgumentParser
import Netwatch
import NetwatchNetlink
import NetwatchStream

/// What counts as in flight.
struct ActivityOptions: SharedOptions {
  @Option(
    help: ArgumentHelp(
      "What counts as in flight: requests that programs announce, tcp connections of all programs, udp as far as that can "
        + "be estimated, or several such as tcp,udp; all is requests,tcp. Where a service counts, its choice holds. "
        + "Default: requests.",
      valueName: "what"), transform: ServiceIdentity.Counts.init(argument:))
  var activity = ServiceIdentity.Counts.requests

  @Option(
    name: .customLong("activity-ignore"), parsing: .singleValue,
    help: ArgumentHelp(
      "Leave out TCP connections and UDP with this port, to this address or range such as 10.0.0.0/8, or of this program; may "
        + "be repeated.", valueName: "what"),
    transform: ConnectionExclusion.init(argument:))
  var exclusions: [ConnectionExclusion] = []

  @Option(
    name: .customLong("activity-interval"),
    help: ArgumentHelp("Look at TCP connections so often. Default: 0.5.", valueName: "seconds"),
    transform: Duration.init(seconds:))
  var interval: Duration?

  @Option(
    name: .customLong("activity-patience"),
    help: ArgumentHelp(
      "Take a TCP connection that has waited so long for a long poll, not a request. Default: 30.", valueName: "seconds"
    ), transform: Duration.init(seconds:))
  var patience: Duration?

  /// All others belong to it.
  var given: String? { activity != .requests ? "--activity" : nil }

  /// Shorter looks would only wear out the machine.
  private static let shortestInterval = Duration.milliseconds(20)

  mutating func validate() throws {
    if let interval, interval < Self.shortestInterval {
      throw ValidationError("--activity-interval needs a number from 0.02.")
    }
    if patience == .zero { throw ValidationError("--activity-patience needs a number above 0.") }
    if !exclusions.isEmpty, activity.isDisjoint(with: [.tcp, .udp]) {
      throw ValidationError("--activity-ignore is about TCP connections; add --activity tcp.")
    }
    guard !activity.contains(.tcp) else { return }
    if interval != nil { throw ValidationError("--activity-interval is about TCP connections; add --activity tcp.") }
    if patience != nil { throw ValidationError("--activity-patience is about TCP connections; add --activity tcp.") }
  }

  /// One look does not tell what flows.
  func refuseEstimates() throws {
    if activity.contains(.udp) {
      throw ValidationError("--activity udp takes more than one look; add -f, or leave out udp.")
    }
  }

  var settings: ActivitySettings {
    var settings = ActivitySettings()
    settings.counts = activity
    settings.connections.exclusions = exclusions
    if let interval { settings.connections.rules.interval = interval }
    if let patience { settings.connections.rules.patience = patience }
    return settings
  }
}

extension ServiceIdentity.Counts {
  /// What `--activity` says.
  fileprivate init(argument text: String) throws {
    guard let counts = Self(text) else {
      throw ValidationError("--activity needs requests, tcp, udp, all, or several of them such as tcp,udp.")
    }
    self = counts
  }
}

extension ConnectionExclusion {
  /// What `--activity-ignore` says.
  fileprivate init(argument text: String) throws {
    do {
      self = try ConnectionExclusion(text)
    } catch {
      throw ValidationError(error.description)
    }
  }
}
