import Netwatch
import NetwatchNetlink
import NetwatchStream

extension LineSource.Options {
  /// What the options of the command line say, written as `name=value` or, of a flag, as `name` alone: those that decide what a
  /// line of `netwatch --follow` says.
  ///
  /// - Throws: A sentence about the first one that is not known or makes no sense.
  package init(_ words: [String]) throws(PlainError) {
    self.init()
    var target = NetworkTarget.internet
    var rules = LinkRules()
    var hold = Duration.zero
    var (allowsLinkLocal, usesService) = (false, true)
    var counts = ServiceIdentity.Counts.requests
    var exclusions: [ConnectionExclusion] = []
    var (interval, patience): (Duration?, Duration?)
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = parts[0]
      func value() throws(PlainError) -> String {
        guard parts.count == 2, !parts[1].isEmpty else {
          throw PlainError("\(name) needs a value; write \(name)=VALUE.")
        }
        return parts[1]
      }
      func parsed<Value>(_ parse: (String) throws(PlainError) -> Value) throws(PlainError) -> Value {
        let text = try value()
        do throws(PlainError) {
          return try parse(text)
        } catch {
          throw PlainError("\(name): \(error.description)")
        }
      }
      func isOn() throws(PlainError) -> Bool {
        switch parts.count == 2 ? parts[1] : "yes" {
        case "yes", "true", "1": return true
        case "no", "false", "0": return false
        default: throw PlainError("\(name) is yes or no.")
        }
      }
      switch name {
      case "target": target = try parsed(NetworkTarget.init(checking:))
      case "interface": rules.included.append(try value())
      case "ignore": rules.ignored.append(try value())
      case "wwan": rules.modems.append(try value())
      case "tunnel": rules.tunnels.append(try value())
      case "hold": hold = try parsed(Duration.init(checkingSeconds:))
      case "link-local": allowsLinkLocal = try isOn()
      case "interfaces": listsInterfaces = try isOn()
      case "no-service": usesService = try !isOn()
      case "activity":
        guard let given = ServiceIdentity.Counts(try value()) else {
          throw PlainError("activity needs requests, tcp, udp, all, or several of them such as tcp,udp.")
        }
        counts = given
      case "activity-ignore": exclusions.append(try parsed(ConnectionExclusion.init))
      case "activity-interval": interval = try parsed(Duration.init(checkingSeconds:))
      case "activity-patience": patience = try parsed(Duration.init(checkingSeconds:))
      default: throw PlainError("there is no option '\(name.harmless)'.")
      }
    }
    activity = try ActivitySettings(
      counts: counts, exclusions: exclusions, interval: interval, patience: patience, dashes: "")
    configuration = rules.configuration(for: target)
    configuration.hold = hold
    configuration.allowsLinkLocalIPv4 = allowsLinkLocal
    configuration.publishesInterfaceChanges = listsInterfaces
    // A service judges as it does without options.
    let isAsUsual = target == .internet && rules == LinkRules() && hold == .zero && !allowsLinkLocal && !listsInterfaces
    service = !usesService ? .nothing : isAsUsual ? .everything : .activity
  }
}
