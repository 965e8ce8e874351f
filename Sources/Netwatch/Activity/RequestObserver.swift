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
