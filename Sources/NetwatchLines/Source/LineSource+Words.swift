import Netwatch
import NetwatchNetlink
import NetwatchStream

extension LineSource.Options {
  /// Reads options of the command line, written as `name=value` or, for a flag, as `name`: those that determine the lines of
  /// `netwatch --follow`.
  ///
  /// - Throws: A `PlainError` about the first option that is unknown or invalid.
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
    configuration.publishesInterfaceChanges = given.listsInterfaces
    service = !given.usesService ? .nothing : given.judgesAsUsual ? .everything : .activity
  }
}

/// The values of all options that were given.
private struct GivenOptions {
  var target = NetworkTarget.internet
  var rules = LinkRules()
  var hold = Duration.zero
  var listsInterfaces = false
  var usesService = true
  var counts = ServiceIdentity.Counts.requests
  var exclusions: [ConnectionExclusion] = []
  var interval: Duration?
  var patience: Duration?

  /// Whether a service without options would judge the path in the same way.
  var judgesAsUsual: Bool {
    target == .internet && rules == LinkRules() && hold == .zero && !listsInterfaces
  }

  mutating func take(_ word: OptionWord) throws(PlainError) {
    switch word.name {
    case "target": target = try word.parsed(NetworkTarget.init(checking:))
    case "interface": rules.included.append(try word.value)
    case "ignore": rules.ignored.append(try word.value)
    case "wwan": rules.modems.append(try word.value)
    case "tunnel": rules.tunnels.append(try word.value)
    case "hold": hold = try word.parsed(Duration.init(checkingSeconds:))
    case "link-local": rules.allowsLinkLocal = try word.isOn
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

/// An option as `name=value`, or `name` alone.
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

  /// The value of a flag; true if it has none.
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
