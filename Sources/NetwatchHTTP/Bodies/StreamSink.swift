import HTTPTypes

/// Hands the body to a reader, and waits for it.
final class StreamSink: BodySink {
  private let buffer: BodyBuffer

  /// - Parameter goOn: Called when there is room again.
  init(_ buffer: BodyBuffer, goOn: @escaping @Sendable () -> Void) {
    self.buffer = buffer
    buffer.onRoom(goOn)
  }

  func begin(_ response: HTTPResponse, to request: HTTPRequest, length: Int64?) { buffer.begin(response, to: request) }

  func take(_ bytes: UnsafeRawBufferPointer) -> BodyAcceptance { unsafe buffer.take(bytes) ? .taken : .paused }

  func end(_ failure: HTTPError?) -> ReceivedBody { .none }
}
