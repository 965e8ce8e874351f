import Netwatch

/// A sequence of events that somebody reads. It ends when no engine has it any more.
final class EventReader: Sendable {
  private let stream: AsyncStream<HTTPEvent>.Continuation

  init(_ stream: AsyncStream<HTTPEvent>.Continuation) { self.stream = stream }

  deinit { stream.finish() }

  func tell(_ event: HTTPEvent) { stream.yield(event) }
}
