/// Names a request. Equal ids mean the same request.
public struct RequestID: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  private enum Name: Hashable {
    case number(UInt64)
    case text(String)
  }
  private let name: Name

  public init(_ number: UInt64) { name = .number(number) }
  public init(_ text: String) { name = .text(text) }
  public init(integerLiteral number: UInt64) { self.init(number) }
  public init(stringLiteral text: String) { self.init(text) }
}

/// Hears of requests as they begin and end. ``ActivityIndicator`` is one.
///
/// The calls may come in any order and on any thread.
public protocol RequestObserver: Sendable {
  /// A request has begun, or runs on after a pause.
  ///
  /// - Parameters:
  ///   - id: names it until its end.
  ///   - isIndicated: false for what runs for long without anybody waiting: a long poll, a socket.
  func began(_ id: RequestID, isIndicated: Bool)
  /// A request is over, or pauses.
  func ended(_ id: RequestID)
}

extension RequestObserver {
  public func began(_ id: RequestID) { began(id, isIndicated: true) }
}
