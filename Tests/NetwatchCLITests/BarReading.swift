import Foundation

/// What a bar makes of a line: the text that it shows, and everything else that the line asks for.
struct BarReading: Equatable {
  var text = ""
  var tags: [String] = []
}

/// The grammars of the bars, according to their source code and to tests in the bars.
enum BarGrammar {
  /// The reason why a bar cannot read a line.
  struct Fault: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  static func plain(_ line: String) -> BarReading { BarReading(text: line) }

  /// Reads a line as polybar does. Tags are `%{…}` wherever they stand, because `%%` is not an escape.
  static func polybar(_ line: String) throws -> BarReading {
    try reading(line, opening: "%{", closing: "}") { _ in nil }
  }

  static func lemonbar(_ line: String) throws -> BarReading {
    try reading(line, opening: "%{", closing: "}") { rest in rest.starts(with: "%%".unicodeScalars) ? ("%", 2) : nil }
  }

  static func conky(_ line: String) throws -> BarReading {
    try reading(line, opening: "${", closing: "}") { rest in
      if rest.starts(with: "$$".unicodeScalars) { return ("$", 2) }
      if rest.starts(with: "\\#".unicodeScalars) { return ("#", 2) }
      let isTag = rest.starts(with: "${".unicodeScalars)
      if rest.first == "$" && !isTag || rest.first == "#" { throw Fault("an open \(rest)") }
      return nil
    }
  }

  private static func reading(
    _ line: String, opening: String, closing: Unicode.Scalar,
    escape: (Substring.UnicodeScalarView) throws -> (text: String, length: Int)?
  ) throws -> BarReading {
    var reading = BarReading()
    var rest = line.unicodeScalars[...]
    while let scalar = rest.first {
      if let (text, length) = try escape(rest) {
        reading.text.unicodeScalars += text.unicodeScalars
        rest = rest.dropFirst(length)
      } else if rest.starts(with: opening.unicodeScalars) {
        guard let end = rest.firstIndex(of: closing) else { throw Fault("an open tag: \(line)") }
        reading.tags.append(String(rest[..<end].dropFirst(opening.unicodeScalars.count)))
        rest = rest[end...].dropFirst()
      } else {
        reading.text.unicodeScalars.append(scalar)
        rest = rest.dropFirst()
      }
    }
    return reading
  }

  /// Reads a line as xmobar does. `<raw=N:…/>` contains N characters of any kind; everything else in angle brackets is
  /// a tag.
  static func xmobar(_ line: String) throws -> BarReading {
    var reading = BarReading()
    var rest = line.unicodeScalars[...]
    while let scalar = rest.first {
      if rest.starts(with: "<raw=".unicodeScalars) {
        guard let colon = rest.firstIndex(of: ":"), let length = Int(String(rest[..<colon].dropFirst(5))) else {
          throw Fault("no length: \(line)")
        }
        let text = rest[colon...].dropFirst().prefix(length)
        reading.text.unicodeScalars += text
        rest = rest[text.endIndex...]
        guard text.count == length, rest.starts(with: "/>".unicodeScalars) else { throw Fault("wrong length: \(line)") }
        rest = rest.dropFirst(2)
      } else if scalar == "<" {
        guard let end = rest.firstIndex(of: ">") else { throw Fault("an open tag: \(line)") }
        reading.tags.append(String(rest[..<end].dropFirst()))
        rest = rest[end...].dropFirst()
      } else {
        reading.text.unicodeScalars.append(scalar)
        rest = rest.dropFirst()
      }
    }
    return reading
  }

  /// Reads a line as tmux does: `format_expand` reads the line of a job, and then `format_draw` reads the result.
  static func tmux(_ line: String) throws -> BarReading {
    try tmuxDraw(tmuxExpand(Array(line.unicodeScalars)))
  }

  private static func tmuxExpand(_ line: [Unicode.Scalar]) throws -> [Unicode.Scalar] {
    var result: [Unicode.Scalar] = []
    var position = 0
    while position < line.count {
      guard line[position] == "#" else {
        result.append(line[position])
        position += 1
        continue
      }
      let run = line[position...].prefix { $0 == "#" }.count
      if position + run < line.count, line[position + run] == "[" {
        result += line[position...position + run]
        position += run + 1
        continue
      }
      guard position + 1 < line.count else { throw Fault("a '#' at the end") }
      switch line[position + 1] {
      case "#", "}", ",": result.append(line[position + 1])
      case let scalar:
        // These characters are the names of values, and the beginning of a command or of a longer name.
        guard !"DFHIPSTWh({".unicodeScalars.contains(scalar) else { throw Fault("#\(scalar) is expanded") }
        result += [line[position], scalar]
      }
      position += 2
    }
    return result
  }

  private static func tmuxDraw(_ line: [Unicode.Scalar]) throws -> BarReading {
    var reading = BarReading()
    var position = 0
    while position < line.count {
      guard line[position] == "#" else {
        reading.text.unicodeScalars.append(line[position])
        position += 1
        continue
      }
      let run = line[position...].prefix { $0 == "#" }.count
      position += run
      guard position < line.count, line[position] == "[" else {
        reading.text += String(repeating: "#", count: (run + 1) / 2)
        continue
      }
      reading.text += String(repeating: "#", count: run / 2)
      if run.isMultiple(of: 2) { continue }
      guard let end = line[position...].firstIndex(of: "]") else { throw Fault("an open style") }
      reading.tags.append(String(String.UnicodeScalarView(line[position + 1..<end])))
      position = end + 1
    }
    return reading
  }

  // MARK: JSON and Pango

  static func object(_ line: String) throws -> [String: Any] {
    guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
      throw Fault("no object: \(line)")
    }
    return object
  }

  static func string(_ key: String, _ object: [String: Any]) throws -> String {
    guard let text = object[key] as? String else { throw Fault("no \(key) in \(object)") }
    return text
  }

  static func pango(_ markup: String) throws -> BarReading {
    let names: [String: Unicode.Scalar] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
    var reading = try reading(markup, opening: "<", closing: ">") { rest in
      guard rest.first == "&" else { return nil }
      guard let end = rest.prefix(10).firstIndex(of: ";") else { throw Fault("a bare &: \(markup)") }
      let name = String(rest[..<end].dropFirst())
      let number = name.hasPrefix("#") ? UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init) : nil
      guard let scalar = names[name] ?? number else { throw Fault("no character: \(name)") }
      return (String(Character(scalar)), name.unicodeScalars.count + 2)
    }
    reading.tags = reading.tags.map { "<\($0)>" }
    return reading
  }

  /// Reads one line of i3bar's array. All lines but the first begin with a comma.
  static func block(_ line: String, isFirst: Bool) throws -> [String: Any] {
    guard line.hasPrefix(",") != isFirst else { throw Fault("the comma: \(line)") }
    let text = isFirst ? line : String(line.dropFirst())
    guard let blocks = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]], blocks.count == 1
    else { throw Fault("no block: \(line)") }
    return blocks[0]
  }

  /// Reads a line as i3blocks 1.4 does, which ends a string at the first quote and copies everything before the quote.
  static func i3blocks(_ line: String) throws -> [String: String] {
    guard line.unicodeScalars.first == "{", line.unicodeScalars.last == "}", !line.contains("\\") else {
      throw Fault("no object: \(line)")
    }
    var result: [String: String] = [:]
    let parts = line.unicodeScalars.dropFirst().dropLast().split(separator: "\"", omittingEmptySubsequences: false)
      .map(String.init)
    // The parts are: "" key : value , key : value "".
    for position in stride(from: 1, to: parts.count, by: 4) {
      guard position + 3 < parts.count, parts[position + 1] == ":", ["", ","].contains(parts[position + 3]) else {
        throw Fault("a quote too many: \(line)")
      }
      result[parts[position]] = parts[position + 2]
    }
    return result
  }
}
