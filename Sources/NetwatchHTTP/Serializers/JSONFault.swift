import FoundationEssentials

/// The reason why a `JSONDecoder` refuses a text as a whole. Foundation does not tell it on Linux.
///
/// Only the faults that are hard to see are found: they do no harm to the structure of the text.
struct JSONFault: CustomStringConvertible {
  /// The fault in a few words of English, with its place.
  let description: String

  /// Finds the first fault. Nil if there is none, or if the fault is another one.
  init?(in text: Data) {
    let bytes = [UInt8](text)
    guard let words = Self.badUTF8(bytes) ?? Self.fault(bytes) else { return nil }
    description = words
  }

  private static func badUTF8(_ bytes: [UInt8]) -> String? {
    var (parser, rest, place) = (Unicode.UTF8.ForwardParser(), bytes.makeIterator(), 0)
    while true {
      switch parser.parseScalar(from: &rest) {
      case .valid(let scalar): place += scalar.count
      case .emptyInput: return nil
      case .error: return "byte \(place) is not UTF-8"
      }
    }
  }

  private static func fault(_ bytes: [UInt8]) -> String? {
    var place = 0
    var isText = false
    while place < bytes.count {
      let byte = bytes[place]
      if isText {
        if byte == UInt8(ascii: "\\") {
          if let unit = unit(bytes, place), 0xd800...0xdfff ~= unit {
            let next = self.unit(bytes, place + 6)
            guard unit < 0xdc00, let next, 0xdc00...0xdfff ~= next else {
              return "the text at byte \(place) has half of a surrogate pair: \\u\(String(unit, radix: 16))"
            }
            place += 6
          }
          place += 1
        } else if byte == UInt8(ascii: "\"") {
          isText = false
        }
        place += 1
      } else if byte == UInt8(ascii: "-") || 48...57 ~= byte {
        let number = bytes[place...].prefix { "+-.eE0123456789".utf8.contains($0) }
        let text = String(decoding: number, as: UTF8.self)
        if let value = Double(text), value.isInfinite {
          return "the number at byte \(place) is too large for a Double: \(text.prefix(40))"
        }
        place += number.count
      } else {
        isText = byte == UInt8(ascii: "\"")
        place += 1
      }
    }
    return nil
  }

  /// Returns the UTF-16 code unit of an escape such as `\u00e9`. Nil if there is another text.
  private static func unit(_ bytes: [UInt8], _ place: Int) -> UInt16? {
    guard place + 6 <= bytes.count, bytes[place] == UInt8(ascii: "\\"), bytes[place + 1] == UInt8(ascii: "u") else {
      return nil
    }
    return UInt16(String(decoding: bytes[(place + 2)..<(place + 6)], as: UTF8.self), radix: 16)
  }
}

extension HTTPError {
  /// Creates the error of a body that cannot be decoded. An ``HTTPError`` stays as it is.
  init(decoding operation: String, _ error: any Error, body: Data) {
    if let error = error as? HTTPError {
      self = error
      return
    }
    var message = "\(error)"
    if case .dataCorrupted(let context) = error as? DecodingError, context.debugDescription.contains("not valid JSON"),
      let fault = JSONFault(in: body)
    {
      message = "the body is not valid JSON: \(fault)"
    }
    self.init(.cannotDecodeContentData, operation, message: message, underlying: error)
  }
}
