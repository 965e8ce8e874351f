import Netwatch

/// The unit of rates.
enum TrafficUnits: String, CaseIterable {
  case bits, bytes

  /// Returns a rate in this unit.
  func rate(_ bitsPerSecond: UInt64) -> UInt64 { self == .bits ? bitsPerSecond : bitsPerSecond / 8 }

  /// The symbol of the unit, which follows an SI prefix.
  var name: StaticString { self == .bits ? "b/s" : "B/s" }
}

/// A number in three places with an SI prefix, so that the width of text does not change: `  0`, `1.2` with k, ` 12` with M,
/// `999` with G.
struct RateText: Hashable {
  private static let prefixes: [UInt8] = [0x20] + Array("kMGTPE".utf8)

  /// The rounded number; in tenths if it has a decimal point.
  private let number: UInt64
  private let hasPoint: Bool
  /// The SI prefix; a space if there is none.
  let prefix: UInt8

  init(_ value: UInt64) {
    guard value >= 1_000 else {
      (number, hasPoint, prefix) = (value, false, Self.prefixes[0])
      return
    }
    var (scale, index) = (UInt64(1_000), 1)
    while true {
      // Rounded, a number may need the next prefix: 999,500 is 1.0M.
      let tenths = Self.divided(value, by: scale / 10)
      let whole = Self.divided(value, by: scale)
      if tenths < 100 || whole < 1_000 || index + 1 == Self.prefixes.count {
        (number, hasPoint, prefix) = (tenths < 100 ? tenths : whole, tenths < 100, Self.prefixes[index])
        return
      }
      scale *= 1_000
      index += 1
    }
  }

  private static func divided(_ value: UInt64, by divisor: UInt64) -> UInt64 {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder >= divisor - divisor / 2 ? quotient + 1 : quotient
  }

  /// Appends the three places of the number.
  fileprivate func writeNumber(to buffer: inout LineBuffer, padding: StaticString) {
    if hasPoint {
      buffer.appendDecimal(number / 10)
      buffer.append(".")
      buffer.appendDecimal(number % 10)
      return
    }
    if number < 100 { buffer.append(padding) }
    if number < 10 { buffer.append(padding) }
    buffer.appendDecimal(number)
  }
}

extension LineBuffer {
  /// Appends a number in four places: three for its digits, one for the prefix.
  ///
  /// - Parameters:
  ///   - value: The number; nil if it is not known.
  ///   - padding: A space as wide as a digit.
  mutating func append(rate value: UInt64?, padding: StaticString) {
    guard let value else {
      append(padding)
      append(padding)
      append("-")
      return append(padding)
    }
    let text = RateText(value)
    text.writeNumber(to: &self, padding: padding)
    if text.prefix == 0x20 { append(padding) } else { append(text.prefix) }
  }

  /// Appends a rate with its unit, such as ` 12 Mb/s`.
  mutating func append(rate value: UInt64?, in units: TrafficUnits) {
    if let value {
      let text = RateText(units.rate(value))
      text.writeNumber(to: &self, padding: " ")
      append(" ")
      if text.prefix != 0x20 { append(text.prefix) }
    } else {
      append("  - ")
    }
    append(units.name)
  }
}
