/// An observer of requests as they begin and end. ``ActivityIndicator`` is one.
///
/// The calls can come in any order and on any thread.
public protocol RequestObserver: Sendable {
  /// Called when a request begins or continues after a pause.
  ///
  /// - Parameters:
  ///   - id: The name of the request until its end.
  ///   - isIndicated: Whether the request counts as activity. False for one that runs long while nobody waits for it, such as
  ///     a long poll or a socket.
  func began(_ id: RequestID, isIndicated: Bool)
  /// Called when a request is over or pauses.
  ///
  /// - Parameter id: The name of the request.
  func ended(_ id: RequestID)
}

extension RequestObserver {
  /// Reports that a request begins or continues, and that it counts as activity.
  public func began(_ id: RequestID) { began(id, isIndicated: true) }
}
