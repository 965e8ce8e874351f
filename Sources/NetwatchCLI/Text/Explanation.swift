import Netwatch
import NetwatchStream

/// The steps that lead to a verdict, in words for people.
struct Explanation {
  /// The topic of a step.
  enum Topic: String {
    case name, rule, route, link, source, tunnel, medium
  }

  struct Step {
    let topic: Topic
    let text: String
    /// Whether the step shows what keeps the path from working. Default: false.
    var isFault = false
    var facts: [(name: String, value: JSONValue)] = []
  }

  /// The steps of the way to one address.
  struct Section {
    let destination: InternetAddress
    let title: String
    var steps: [Step] = []
    /// The reason why the address is not reachable; nil if it is reachable.
    var failure: ReachabilityReason?
  }

  let target: String
  /// The step with the addresses of the target's name; nil if the target is not a host name.
  let resolution: Step?
  let verdict: NetworkPath.Verdict
  /// The reason why the target is not reachable; nil if it is reachable.
  let reason: ReachabilityReason?
  private let sections: [Section]
  /// The links that carry nothing, if no way was found.
  let deadLinks: [Step]
  /// The explanation in one sentence.
  let summary: String
  /// The stages of the way to the internet; nil if they were not examined.
  let stages: NetworkStages?

  init(
    _ findings: PathExplanation, _ stages: NetworkStages? = nil,
    cable: @escaping (Interface) -> CableState? = { _ in nil }
  ) {
    self.stages = stages
    let words = ExplanationWords(findings, cable: cable)
    var sections: [Section] = []
    for step in findings.steps {
      if case .destination(let address) = step {
        sections.append(Section(destination: address, title: words.title(of: address)))
      }
      guard let last = sections.indices.last else { continue }
      sections[last].steps += words.steps(for: step, to: sections[last].destination)
      if case .outcome(let failure, let link) = step {
        sections[last].failure = failure
        if let link { sections[last].steps += words.media(of: link) }
      }
    }
    self.sections = sections
    target = words.target
    resolution = words.resolution
    verdict = findings.verdict
    reason = findings.verdict.isReachable ? nil : findings.failure
    deadLinks = words.deadLinks
    summary = words.summary
  }
}

extension Explanation {
  /// Returns the explanation as text for people:
  /// ```
  /// IPv4 to the internet (192.0.2.1)
  ///   rule    32766: from all lookup main
  ///   route   table main: via 10.0.0.2 dev eth0
  /// ✗ link    eth0: switched on, no carrier; the cable or its other end is missing
  ///   not reachable: no carrier
  ///
  /// The internet is not reachable: eth0 has no carrier.
  /// ```
  func text(on terminal: Terminal) -> String {
    var text = resolution.map { terminal.line($0) + "\n" } ?? ""
    for section in sections {
      text += terminal.line(section.title, .bold)
      for step in section.steps { text += terminal.line(step) }
      let outcome = section.failure.map { "not reachable: \($0.rawValue.words)" } ?? "reachable"
      text += terminal.line(outcome, section.failure == nil ? .green : .red, at: Terminal.topicColumn) + "\n"
    }
    if !deadLinks.isEmpty {
      text += terminal.line("Links that carry nothing", .bold)
      text += deadLinks.map { terminal.line($0) }.joined() + "\n"
    }
    if let stages {
      text += terminal.line("The way to the internet", .bold)
      text += StageTable(stages: stages, terminal: terminal).text + "\n"
    }
    return text + terminal.line(summary.capitalizedSentence)
  }

  /// The explanation as one line of JSON.
  var json: String {
    var buffer = LineBuffer()
    buffer.append(#"{"v":1,"target":"#)
    buffer.appendQuoted(target)
    buffer.append(#","status":"#)
    buffer.appendQuoted(verdict.status.rawValue)
    if verdict.isLocalOnly { buffer.append(#","scope":"local""#) }
    buffer.append(#","reason":"#)
    buffer.appendQuoted(orNull: reason?.rawValue)
    buffer.append(#","medium":"#)
    buffer.appendQuoted(orNull: verdict.medium?.rawValue)
    buffer.append(#","interface":"#)
    buffer.appendQuoted(orNull: verdict.interfaceName?.text)
    buffer.append(#","vpn":"#)
    buffer.append(verdict.vpn)
    buffer.append(#","summary":"#)
    buffer.appendQuoted(summary.capitalizedSentence)
    if let resolution {
      buffer.append(#","name":"#)
      buffer.append(resolution)
    }
    buffer.append(#","ways":"#)
    buffer.appendList(sections) { $0.append($1) }
    buffer.append(#","dead_links":"#)
    buffer.appendList(deadLinks) { $0.append($1) }
    if let stages { buffer.append(stages) }
    buffer.append("}\n")
    return buffer.text
  }
}

extension LineBuffer {
  fileprivate mutating func appendQuoted(orNull text: String?) {
    if let text { appendQuoted(text) } else { append("null") }
  }

  fileprivate mutating func append(_ section: Explanation.Section) {
    append(#"{"family":"#)
    appendQuoted(section.destination.family == .ipv4 ? "ipv4" : "ipv6")
    append(#","destination":"#)
    appendQuoted("\(section.destination)")
    append(
      section.failure == nil ? #","reachable":true,"reason":null,"steps":"# : #","reachable":false,"reason":"#)
    if let failure = section.failure {
      appendQuoted(failure.rawValue)
      append(#","steps":"#)
    }
    appendList(section.steps) { $0.append($1) }
    append("}")
  }

  fileprivate mutating func append(_ step: Explanation.Step) {
    append(#"{"step":"#)
    appendQuoted(step.topic.rawValue)
    append(step.isFault ? #","ok":false,"text":"# : #","ok":true,"text":"#)
    appendQuoted(step.text)
    for fact in step.facts {
      append(",")
      appendQuoted(fact.name)
      append(":")
      append(fact.value)
    }
    append("}")
  }
}

extension Terminal {
  /// The column in which the topic of a step begins.
  fileprivate static let topicColumn = 2
  private static let textColumn = 10

  fileprivate func line(_ phrase: String, _ color: TextColor? = nil, at column: Int = 0) -> String {
    var line = foldedText(indent: column)
    line.append(phrase, color, at: column)
    return line.lines
  }

  fileprivate func line(_ step: Explanation.Step) -> String {
    let color = step.isFault ? TextColor.red : nil
    var line = foldedText(indent: Self.textColumn)
    if step.isFault { line.append(isUnicode ? "✗" : "!", color) }
    line.append(step.topic.rawValue, color, at: Self.topicColumn)
    line.append(step.text, color, at: Self.textColumn)
    return line.lines
  }
}

extension String {
  /// The text with a capital letter at its beginning, unless it begins with an address or a name.
  fileprivate var capitalizedSentence: String {
    hasPrefix("the ") ? "The" + dropFirst(3) : self
  }
}
