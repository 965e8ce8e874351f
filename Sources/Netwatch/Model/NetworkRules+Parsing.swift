/// Files of rules: one statement a line, in the words of the options.
///
/// ```
/// metered ssid Train*          # a pattern
/// metered ssid "Jo's \"Phone\""  # a name, byte for byte
/// no modem ppp0                # takes an earlier statement back
/// ```
extension NetworkRules {
  /// A line that is not understood.
  package struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
    package let file: String
    /// The number of the line, from 1. Nil if the fault is that of the file.
    package let line: Int?
    package let message: String

    package init(file: String, line: Int?, _ message: String) {
      self.file = file
      self.line = line
      self.message = message
    }

    /// The sentence, with the place first. It is harmless for a terminal.
    package var description: String { "\(file)\(line.map { ":\($0)" } ?? ""): \(message)".sanitizedForTerminal }
  }

  /// Adds the statements of a file, and takes back those that it takes back.
  ///
  /// - Returns: The lines that are not understood, and say nothing therefore.
  package mutating func read(_ bytes: [UInt8], of file: String) -> [Fault] {
    var faults: [Fault] = []
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    let text = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() {
      do throws(PlainError) {
        let words = try Self.words(of: line)
        guard let first = words.first else { continue }
        if first.isPlain("no") {
          removeAll(where: try Self.takenBack(words.dropFirst()))
        } else {
          add(try Self.statement(words[...]))
        }
      } catch {
        faults.append(Fault(file: file, line: number + 1, error.description))
      }
    }
    return faults
  }

  // MARK: Statements

  private static let keywords = [
    "metered", "not-metered", "constrained", "modem", "tunnel", "ignore", "link-local", "probe", "portal-api",
  ]

  private static func takenBack(_ words: ArraySlice<Word>) throws(PlainError) -> (Statement) -> Bool {
    if words.count == 1, words.first?.isPlain("probe") == true {
      return { if case .probe = $0 { true } else { false } }
    }
    let statement = try statement(words)
    return { $0 == statement }
  }

  private static func statement(_ words: ArraySlice<Word>) throws(PlainError) -> Statement {
    guard let keyword = words.first.map({ String(decoding: $0.bytes, as: UTF8.self) }) else {
      throw PlainError("no needs the statement that it takes back, such as no modem ppp0")
    }
    let rest = words.dropFirst()
    switch keyword {
    case "metered": return .metered(true, try subject(rest, of: keyword))
    case "not-metered": return .metered(false, try subject(rest, of: keyword))
    case "constrained": return .constrained(try subject(rest, of: keyword))
    case "modem": return .modem(try interface(rest, of: keyword))
    case "tunnel": return .tunnel(try interface(rest, of: keyword))
    case "ignore": return .ignored(try interface(rest, of: keyword))
    case "link-local":
      guard rest.isEmpty else { throw PlainError("link-local takes no word; leave out the rest of the line") }
      return .linkLocal
    case "portal-api":
      guard rest.isEmpty else { throw PlainError("portal-api takes no word; leave out the rest of the line") }
      return .portalAPI
    case "probe":
      guard let url = rest.first, rest.count == 1 else {
        throw PlainError("probe takes one URL, such as http://example.org/generate_204")
      }
      return .probe(try ProbeURL.checked(String(decoding: url.bytes, as: UTF8.self)))
    default: throw PlainError("there is no rule '\(keyword)'; the words are \(keywords.joined(separator: ", ")) and no")
    }
  }

  private static func subject(_ words: ArraySlice<Word>, of keyword: String) throws(PlainError) -> Subject {
    switch words.first.map({ String(decoding: $0.bytes, as: UTF8.self) }) {
    case "ssid":
      return .ssid(try glob(words.dropFirst(), of: "\(keyword) ssid", example: "\"My phone\"", SSID.capacity))
    case "interface": return .interface(try interface(words.dropFirst(), of: "\(keyword) interface"))
    default: throw PlainError("\(keyword) needs ssid NAME or interface NAME after it")
    }
  }

  private static func interface(_ words: ArraySlice<Word>, of keyword: String) throws(PlainError) -> Glob {
    try glob(words, of: keyword, example: "wl*", InterfaceName.capacity - 1)
  }

  private static func glob(
    _ words: ArraySlice<Word>, of keyword: String, example: String, _ longest: Int
  ) throws(PlainError) -> Glob {
    guard let word = words.first else {
      throw PlainError("\(keyword) needs a name or a pattern, such as \(keyword) \(example)")
    }
    guard words.count == 1 else {
      throw PlainError("\(keyword) takes one name; put a name with spaces in double quotes")
    }
    guard word.isQuoted else {
      guard word.bytes.count <= longestPattern else {
        throw PlainError("the pattern after \(keyword) is longer than \(longestPattern) bytes")
      }
      return Glob(pattern: word.bytes)
    }
    guard 1...longest ~= word.bytes.count else {
      throw PlainError("the name after \(keyword) needs 1 to \(longest) bytes")
    }
    return Glob(name: word.bytes)
  }

  /// No name is as long.
  private static let longestPattern = 255

  // MARK: Words

  private struct Word {
    var bytes: [UInt8] = []
    var isQuoted = false

    func isPlain(_ text: String) -> Bool { !isQuoted && bytes.elementsEqual(text.utf8) }
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
  }

  private static func words(of line: ArraySlice<UInt8>) throws(PlainError) -> [Word] {
    var words: [Word] = []
    var rest = line
    while true {
      rest = rest.drop(while: isSpace)
      guard let first = rest.first, first != UInt8(ascii: "#") else { return words }
      if first == UInt8(ascii: "\"") {
        words.append(try quotedWord(&rest))
      } else {
        let word = rest.prefix { !isSpace($0) }
        if word.contains(UInt8(ascii: "\"")) {
          throw PlainError("a double quote can only begin a word; put the whole name in double quotes")
        }
        words.append(Word(bytes: Array(word)))
        rest = rest[word.endIndex...]
      }
    }
  }

  /// Reads a word in double quotes: bytes, `\"`, `\\`, and `\x` with two hexadecimal digits for any byte.
  private static func quotedWord(_ rest: inout ArraySlice<UInt8>) throws(PlainError) -> Word {
    var word = Word(isQuoted: true)
    rest = rest.dropFirst()
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""):
        guard rest.first.map(isSpace) ?? true else {
          throw PlainError("there is no space after the second double quote; write \\\" for a quote within a name")
        }
        return word
      case UInt8(ascii: "\\"):
        switch rest.popFirst() {
        case UInt8(ascii: "\"")?: word.bytes.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\")?: word.bytes.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "x")?:
          guard let digits = String(validating: rest.prefix(2), as: UTF8.self), digits.utf8.count == 2,
            digits.utf8.allSatisfy({ UInt8(ascii: "+") != $0 && UInt8(ascii: "-") != $0 }),
            let value = UInt8(digits, radix: 16)
          else { throw PlainError("\\x needs two hexadecimal digits") }
          word.bytes.append(value)
          rest = rest.dropFirst(2)
        default:
          throw PlainError("within double quotes, write \\\\ for a backslash, \\\" for a quote, or \\x41 for a byte")
        }
      default: word.bytes.append(byte)
      }
    }
    throw PlainError("the second double quote is missing")
  }
}

/// The URL of a server that is asked whether the internet is there.
package enum ProbeURL {
  /// Returns a URL as it is, if it can be one.
  ///
  /// - Throws: A `PlainError` with a sentence about what is wrong with it.
  @Sendable package static func checked(_ text: String) throws(PlainError) -> String {
    let scheme = ["http://", "https://"].first { text.lowercased().hasPrefix($0) }
    let rest = text.dropFirst(scheme?.count ?? 0)
    let isClean = text.unicodeScalars.allSatisfy { 0x20 < $0.value && $0.value < 0x7f }
    guard scheme != nil, isClean, let first = rest.first, !"/?#:@".contains(first) else {
      throw PlainError("'\(text.sanitizedForTerminal)' is no URL; write one such as http://example.org/generate_204.")
    }
    return text
  }
}
