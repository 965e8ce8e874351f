import FoundationEssentials
import HTTPTypes
import Netwatch

/// Carries a body between the loop, which is woken, and a task, which waits: a response to a reader that may be slower, or a
/// request from a writer.
final class BodyBuffer: BodySink, Sendable {
  /// As much as a connection's window: a reader that keeps up never makes it full.
  fileprivate static let capacity = 256 * 1_024

  fileprivate struct State: Sendable {
    var head: HTTPReply<Void>?
    var chunks: [Data] = []
    /// The first of `chunks` that has not been read.
    var next = 0
    var count = 0
    var end: Result<Void, HTTPError>?
    /// Of a response that has ended; nil for none.
    var trailers: HTTPFields?
    var waiter: CheckedContinuation<Void, Never>?
    /// Gets the loop going again.
    var wake: (@Sendable () -> Void)?
    /// The loop waits for room, or for a chunk.
    var hasLoopWaiting = false
  }

  private let state = Lock(State())

  /// Calls `wake` on the task's thread when the loop has found no room, or no chunk, and there is one.
  func onNews(_ wake: @escaping @Sendable () -> Void) { change { $0.wake = wake } }

  /// Nothing comes any more. The first one counts.
  func finish(_ result: Result<Void, HTTPError>, trailers: HTTPFields? = nil) {
    let wake = change { state in
      if state.end == nil { (state.end, state.trailers) = (result, trailers) }
      defer { state.wake = nil }
      return state.takeWake()
    }
    wake?()
  }

  private func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
    let (value, waiter) = state.withLock { state in
      let value = body(&state)
      defer { state.waiter = nil }
      return (value, state.waiter)
    }
    waiter?.resume()
    return value
  }

  /// One task at a time; a second one takes the first one's place, which looks again.
  private func wait(until isReady: @Sendable (State) -> Bool) async {
    while !state.withLock({ isReady($0) }) {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        let toResume = state.withLock { state -> CheckedContinuation<Void, Never>? in
          if isReady(state) { return continuation }
          defer { state.waiter = continuation }
          return state.waiter
        }
        toResume?.resume()
      }
    }
  }

  // MARK: A response, on the loop

  func begin(_ response: HTTPResponse, to request: HTTPRequest, length: Int64?) {
    change { $0.head = HTTPReply(response, (), to: request, HTTPMetrics()) }
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> BodyAcceptance {
    let chunk = unsafe Data(bytes)
    return change { state in
      guard state.count < Self.capacity else {
        state.hasLoopWaiting = true
        return .paused
      }
      state.append(chunk)
      return .taken
    }
  }

  /// The reader hears of it by ``finish(_:)``, behind the last report of progress.
  func end(_ failure: HTTPError?) -> ReceivedBody { .none }

  // MARK: A response, in a task

  /// Waits for the response's head.
  func head() async throws(HTTPError) -> HTTPReply<Void> {
    await wait { $0.head != nil || $0.end != nil }
    let (head, end) = state.withLock { ($0.head, $0.end) }
    if let head { return head }
    try end?.get()
    throw HTTPError(.connectionLost, "response", message: "the server has sent no head")
  }

  /// The next part of the body; nil at its end.
  func next() async throws(HTTPError) -> Data? {
    while true {
      await wait { $0.next < $0.chunks.count || $0.end != nil }
      let (chunk, wake, end) = state.withLock { state in
        let chunk = state.takeChunk()
        return (chunk, state.count < Self.capacity / 2 ? state.takeWake() : nil, state.end)
      }
      wake?()
      if let chunk { return chunk }
      // Another reader may have been faster.
      if let end {
        try end.get()
        return nil
      }
    }
  }

  /// The fields behind the body; nil for none, and before its end has been read.
  var trailers: HTTPFields? {
    state.withLock { state in state.next == state.chunks.count ? state.trailers : nil }
  }

  // MARK: A request, in a task

  /// Returns when the loop has taken the part, or wants no more.
  func put(_ part: Data) async {
    let wake = change { state -> (@Sendable () -> Void)? in
      guard state.end == nil else { return nil }
      state.append(part)
      return state.takeWake()
    }
    wake?()
    await wait { $0.count == 0 || $0.end != nil }
  }

  // MARK: A request, on the loop

  /// The next part of the body, which is nil at its end. Nil if it has not come.
  func poll() -> Result<Data?, HTTPError>? {
    change { state in
      if let chunk = state.takeChunk() { return .success(chunk) }
      state.hasLoopWaiting = state.end == nil
      return state.end.map { $0.map { nil } }
    }
  }
}

extension BodyBuffer.State {
  fileprivate mutating func append(_ chunk: Data) {
    chunks.append(chunk)
    count += chunk.count
  }

  fileprivate mutating func takeChunk() -> Data? {
    guard next < chunks.count else { return nil }
    let chunk = chunks[next]
    chunks[next] = Data()
    next += 1
    count -= chunk.count
    if next == chunks.count {
      chunks.removeAll(keepingCapacity: true)
      next = 0
    }
    return chunk
  }

  fileprivate mutating func takeWake() -> (@Sendable () -> Void)? {
    defer { hasLoopWaiting = false }
    return hasLoopWaiting ? wake : nil
  }
}
