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
    var given = GivenOptions()
    for word in words { try given.take(OptionWord(word)) }
    listsInterfaces = given.listsInterfaces
    activity = try ActivitySettings(
      counts: given.counts, exclusions: given.exclusions, interval: given.interval, patience: given.patience, dashes: ""
    )
    configuration = given.rules.configuration(for: given.target)
    configuration.hold = given.hold
    configuration.allowsLinkLocalIPv4 = given.allowsLinkLocal
    configuration.publishesInterfaceChanges = given.listsInterfaces
    service = !given.usesService ? .nothing : given.judgesAsUsual ? .everything : .activity
  }
}

/// The values of all words.
private struct GivenOptions {
  var target = NetworkTarget.internet
  var rules = LinkRules()
  var hold = Duration.zero
  var allowsLinkLocal = false
  var listsInterfaces = false
  var usesService = true
  var counts = ServiceIdentity.Counts.requests
  var exclusions: [ConnectionExclusion] = []
  var interval: Duration?
  var patience: Duration?

  /// A service judges as it does without options.
  var judgesAsUsual: Bool {
    target == .internet && rules == LinkRules() && hold == .zero && !allowsLinkLocal && !listsInterfaces
  }

  mutating func take(_ word: OptionWord) throws(PlainError) {
    switch word.name {
    case "target": target = try word.parsed(NetworkTarget.init(checking:))
    case "interface": rules.included.append(try word.value)
    case "ignore": rules.ignored.append(try word.value)
    case "wwan": rules.modems.append(try word.value)
    case "tunnel": rules.tunnels.append(try word.value)
    case "hold": hold = try word.parsed(Duration.init(checkingSeconds:))
    case "link-local": allowsLinkLocal = try word.isOn
    case "interfaces": listsInterfaces = try word.isOn
    case "no-service": usesService = try !word.isOn
    case "activity": counts = try Self.counts(word.value)
    case "activity-ignore": exclusions.append(try word.parsed(ConnectionExclusion.init))
    case "activity-interval": interval = try word.parsed(Duration.init(checkingSeconds:))
    case "activity-patience": patience = try word.parsed(Duration.init(checkingSeconds:))
    default: throw PlainError("there is no option '\(word.name.harmless)'.")
    }
  }

  private static func counts(_ text: String) throws(PlainError) -> ServiceIdentity.Counts {
    guard let counts = ServiceIdentity.Counts(text) else {
      throw PlainError("activity needs requests, tcp, udp, all, or several of them such as tcp,udp.")
    }
    return counts
  }
}

/// `name=value`, or `name` alone.
private struct OptionWord {
  let name: String
  private let text: String?

  init(_ word: String) {
    let end = word.firstIndex(of: "=")
    name = String(word[..<(end ?? word.endIndex)])
    text = end.map { String(word[word.index(after: $0)...]) }
  }

  var value: String {
    get throws(PlainError) {
      guard let text, !text.isEmpty else { throw PlainError("\(name) needs a value; write \(name)=VALUE.") }
      return text
    }
  }

  /// Of a flag, which says yes if it has no value.
  var isOn: Bool {
    get throws(PlainError) {
      switch text ?? "yes" {
      case "yes", "true", "1": return true
      case "no", "false", "0": return false
      default: throw PlainError("\(name) is yes or no.")
      }
    }
  }

  func parsed<Value>(_ parse: (String) throws(PlainError) -> Value) throws(PlainError) -> Value {
    let text = try value
    do throws(PlainError) {
      return try parse(text)
    } catch {
      throw PlainError("\(name): \(error.description)")
    }
  }
}
