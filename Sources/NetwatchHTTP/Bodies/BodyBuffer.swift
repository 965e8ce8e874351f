import FoundationEssentials
import HTTPTypes
import Netwatch

/// Carries a body from the loop to a reader that may be slower, and lets the sender wait when it is full.
final class BodyBuffer: Sendable {
  /// As much as a connection's window: a reader that keeps up never makes it full.
  fileprivate static let capacity = 256 * 1_024

  fileprivate struct State: Sendable {
    var head: HTTPReply<Void>?
    var chunks: [Data] = []
    /// The first of `chunks` that has not been read.
    var next = 0
    var count = 0
    var isFull = false
    var end: Result<Void, HTTPError>?
    var reader: CheckedContinuation<Void, Never>?
    var wake: (@Sendable () -> Void)?
  }

  private let state = Lock(State())

  // MARK: On the loop

  /// Calls `wake` on the reader's thread when there is room after ``take(_:)`` has taken nothing.
  func onRoom(_ wake: @escaping @Sendable () -> Void) { change { $0.wake = wake } }

  /// - Returns: false where there is no room, and nothing was taken.
  func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let chunk = unsafe Data(bytes)
    return change { state in
      guard state.count < Self.capacity else {
        state.isFull = true
        return false
      }
      state.chunks.append(chunk)
      state.count += chunk.count
      return true
    }
  }

  func begin(_ response: HTTPResponse, to request: HTTPRequest) {
    change { $0.head = HTTPReply(response, (), to: request, HTTPMetrics()) }
  }

  func end(_ result: Result<Void, HTTPError>) {
    change { state in
      state.end = state.end ?? result
      state.wake = nil
    }
  }

  private func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
    let (value, reader) = state.withLock { state in
      let value = body(&state)
      defer { state.reader = nil }
      return (value, state.reader)
    }
    reader?.resume()
    return value
  }

  // MARK: The reader

  /// Waits for the response's head.
  func head() async throws(HTTPError) -> HTTPReply<Void> {
    while true {
      let (head, end) = state.withLock { ($0.head, $0.end) }
      if let head { return head }
      if case .failure(let failure) = end { throw failure }
      if end != nil { throw HTTPError(.connectionLost, "response", message: "the server has sent no head") }
      await wait { $0.head != nil || $0.end != nil }
    }
  }

  /// The next part of the body; nil at its end.
  func next() async throws(HTTPError) -> Data? {
    while true {
      let (chunk, wake, end) = state.withLock { $0.takeChunk() }
      wake?()
      if let chunk { return chunk }
      if let end {
        try end.get()
        return nil
      }
      await wait { $0.next < $0.chunks.count || $0.end != nil }
    }
  }

  /// One reader at a time; a second one takes the first one's place, which looks again.
  private func wait(until isReady: @Sendable (State) -> Bool) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let toResume = state.withLock { state -> [CheckedContinuation<Void, Never>] in
        if isReady(state) { return [continuation] }
        defer { state.reader = continuation }
        return state.reader.map { [$0] } ?? []
      }
      for continuation in toResume { continuation.resume() }
    }
  }
}

extension BodyBuffer.State {
  fileprivate mutating func takeChunk() -> (chunk: Data?, wake: (@Sendable () -> Void)?, end: Result<Void, HTTPError>?)
  {
    guard next < chunks.count else { return (nil, nil, end) }
    let chunk = chunks[next]
    chunks[next] = Data()
    next += 1
    count -= chunk.count
    if next == chunks.count {
      chunks.removeAll(keepingCapacity: true)
      next = 0
    }
    guard isFull, count < BodyBuffer.capacity / 2 else { return (chunk, nil, nil) }
    isFull = false
    return (chunk, wake, nil)
  }
}
