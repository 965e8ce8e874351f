/// The name of a request. Equal ids mean the same request.
public struct RequestID: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  private enum Name: Hashable {
    case number(UInt64)
    case text(String)
  }
  private let name: Name

  /// The number of the request. Nil if its name is a text.
  package var number: UInt64? { if case .number(let number) = name { number } else { nil } }

  /// Creates an id from a number.
  public init(_ number: UInt64) { name = .number(number) }
  /// Creates an id from a text.
  public init(_ text: String) { name = .text(text) }
  /// Creates an id from an integer literal.
  public init(integerLiteral number: UInt64) { self.init(number) }
  /// Creates an id from a string literal.
  public init(stringLiteral text: String) { self.init(text) }
}
