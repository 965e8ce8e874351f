import Netwatch
import NetwatchStream

/// An ``Explanation`` as text, or as one line of JSON.
struct ExplanationRenderer {
  /// Where the columns begin.
  private enum Column {
    static let topic = 2
    static let text = 10
  }

  let terminal: Terminal

  /// ```
  /// IPv4 to the internet (192.0.2.1)
  ///   rule    32766: from all lookup main
  ///   route   table main: via 10.0.0.2 dev eth0
  /// ✗ link    eth0: switched on, no carrier; the cable or its other end is missing
  ///   not reachable: no carrier
  ///
  /// The internet is not reachable: eth0 has no carrier.
  /// ```
  func text(_ explanation: Explanation) -> String {
    var text = explanation.resolution.map { line($0) + "\n" } ?? ""
    for section in explanation.sections {
      text += line(section.title, .bold)
      for step in section.steps { text += line(step) }
      let outcome = section.failure.map { "not reachable: \(words($0.rawValue))" } ?? "reachable"
      text += line(outcome, section.failure == nil ? .green : .red, at: Column.topic) + "\n"
    }
    if !explanation.deadLinks.isEmpty {
      text += line("Links that carry nothing", .bold)
      text += explanation.deadLinks.map { line($0) }.joined() + "\n"
    }
    return text + line(explanation.summary.capitalizedSentence)
  }

  private func line(_ phrase: String, _ color: TextColor? = nil, at column: Int = 0) -> String {
    var line = terminal.foldedText(indent: column)
    line.append(phrase, color, at: column)
    return line.lines
  }

  private func line(_ step: Explanation.Step) -> String {
    let color = step.isFault ? TextColor.red : nil
    var line = terminal.foldedText(indent: Column.text)
    line.append(step.isFault ? terminal.faultMark : "", color)
    line.append(step.topic.rawValue, color, at: Column.topic)
    line.append(step.text, color, at: Column.text)
    return line.lines
  }

  // MARK: JSON

  static func json(_ explanation: Explanation) -> String {
    var buffer = LineBuffer()
    let verdict = explanation.verdict
    buffer.append(#"{"v":1,"target":"#)
    buffer.appendQuoted(explanation.target)
    buffer.append(#","status":"#)
    buffer.appendQuoted(verdict.status.rawValue)
    buffer.append(#","reason":"#)
    buffer.appendQuoted(orNull: explanation.reason?.rawValue)
    buffer.append(#","medium":"#)
    buffer.appendQuoted(orNull: verdict.medium?.rawValue)
    buffer.append(#","interface":"#)
    buffer.appendQuoted(orNull: verdict.interfaceName?.text)
    buffer.append(#","vpn":"#)
    append(verdict.vpn, to: &buffer)
    buffer.append(#","summary":"#)
    buffer.appendQuoted(explanation.summary.capitalizedSentence)
    if let resolution = explanation.resolution {
      buffer.append(#","name":"#)
      append(resolution, to: &buffer)
    }
    buffer.append(#","ways":["#)
    for (position, section) in explanation.sections.enumerated() {
      if position > 0 { buffer.append(",") }
      append(section, to: &buffer)
    }
    buffer.append(#"],"dead_links":["#)
    append(explanation.deadLinks, to: &buffer)
    buffer.append("]}\n")
    return buffer.text
  }

  /// As in the stream.
  private static func append(_ vpn: VPN?, to buffer: inout LineBuffer) {
    guard let vpn else { return buffer.append("null") }
    buffer.append(#"{"interface":"#)
    buffer.appendQuoted(vpn.interfaceName)
    buffer.append(#","kind":"#)
    buffer.appendQuoted(vpn.kind.rawValue)
    buffer.append(vpn.isCarrierKnown ? #","carrier":"known"}"# : #","carrier":"unknown"}"#)
  }

  private static func append(_ section: Explanation.Section, to buffer: inout LineBuffer) {
    buffer.append(#"{"family":"#)
    buffer.appendQuoted(section.destination.family == .ipv4 ? "ipv4" : "ipv6")
    buffer.append(#","destination":"#)
    buffer.appendQuoted("\(section.destination)")
    buffer.append(
      section.failure == nil ? #","reachable":true,"reason":null,"steps":["# : #","reachable":false,"reason":"#)
    if let failure = section.failure {
      buffer.appendQuoted(failure.rawValue)
      buffer.append(#","steps":["#)
    }
    append(section.steps, to: &buffer)
    buffer.append("]}")
  }

  private static func append(_ steps: [Explanation.Step], to buffer: inout LineBuffer) {
    for (position, step) in steps.enumerated() {
      if position > 0 { buffer.append(",") }
      append(step, to: &buffer)
    }
  }

  private static func append(_ step: Explanation.Step, to buffer: inout LineBuffer) {
    buffer.append(#"{"step":"#)
    buffer.appendQuoted(step.topic.rawValue)
    buffer.append(step.isFault ? #","ok":false,"text":"# : #","ok":true,"text":"#)
    buffer.appendQuoted(step.text)
    for fact in step.facts {
      buffer.append(",")
      buffer.appendQuoted(fact.name)
      buffer.append(":")
      switch fact.value {
      case .text(let text): buffer.appendQuoted(text)
      case .list(let texts):
        buffer.append("[")
        for (position, text) in texts.enumerated() {
          if position > 0 { buffer.append(",") }
          buffer.appendQuoted(text)
        }
        buffer.append("]")
      case .number(let number): buffer.appendDecimal(number)
      case .flag(let isSet): buffer.append(isSet ? "true" : "false")
      case .nothing: buffer.append("null")
      }
    }
    buffer.append("}")
  }
}

extension Terminal {
  fileprivate var faultMark: String { isUnicode ? "✗" : "!" }
}

extension LineBuffer {
  fileprivate mutating func appendQuoted(orNull text: String?) {
    if let text { appendQuoted(text) } else { append("null") }
  }
}

extension String {
  /// With a capital letter at its beginning, if that is a word and no address or name.
  fileprivate var capitalizedSentence: String {
    hasPrefix("the ") ? "The" + dropFirst(3) : self
  }
}
