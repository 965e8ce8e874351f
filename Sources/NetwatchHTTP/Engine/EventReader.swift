import Netwatch

/// The writing end of a sequence of events. The sequence ends when no engine holds this any more.
final class EventReader: Sendable {
  private let stream: AsyncStream<HTTPEvent>.Continuation

  init(_ stream: AsyncStream<HTTPEvent>.Continuation) { self.stream = stream }

  deinit { stream.finish() }

  func tell(_ event: HTTPEvent) { stream.yield(event) }
}
