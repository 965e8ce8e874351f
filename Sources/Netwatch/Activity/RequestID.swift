/// Names a request. Equal ids mean the same request.
public struct RequestID: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  private enum Name: Hashable {
    case number(UInt64)
    case text(String)
  }
  private let name: Name

  /// Nil for a name that is a text.
  package var number: UInt64? { if case .number(let number) = name { number } else { nil } }

  public init(_ number: UInt64) { name = .number(number) }
  public init(_ text: String) { name = .text(text) }
  public init(integerLiteral number: UInt64) { self.init(number) }
  public init(stringLiteral text: String) { self.init(text) }
}
