import FoundationEssentials
import HTTPTypes
import Netwatch

/// Carries a body between the loop, which is woken, and a Swift task, which waits: a response to a reader that may be slower,
/// or a request from a writer.
final class BodyBuffer: BodySink, Sendable {
  /// The size of a connection's window: a reader that keeps up never fills it.
  fileprivate static let capacity = 256 * 1_024

  fileprivate struct State: Sendable {
    var head: HTTPReply<Void>?
    var chunks: [Data] = []
    /// The index of the first of `chunks` that was not read yet.
    var next = 0
    var count = 0
    var end: Result<Void, HTTPError>?
    /// The trailers of a response that has ended. Nil for none.
    var trailers: HTTPFields?
    var waiter: CheckedContinuation<Void, Never>?
    /// Makes the loop continue.
    var wake: (@Sendable () -> Void)?
    /// Whether the loop waits for room, or for a chunk.
    var hasLoopWaiting = false
  }

  private let state = Lock(State())

  /// Calls `wake` on the task's thread when the loop waits for room or for a chunk, and there is one.
  func onNews(_ wake: @escaping @Sendable () -> Void) { change { $0.wake = wake } }

  /// Ends the body. Only the first call counts.
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

  /// Waits for a condition. Only one task waits at a time; a second one replaces the first, which checks again.
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

  /// Does nothing: the reader learns of the end from ``finish(_:trailers:)``, after the last report of progress.
  func end(_ failure: HTTPError?) -> ReceivedBody { .none }

  // MARK: A response, in a task

  /// Waits for the head of the response.
  func head() async throws(HTTPError) -> HTTPReply<Void> {
    await wait { $0.head != nil || $0.end != nil }
    let (head, end) = state.withLock { ($0.head, $0.end) }
    if let head { return head }
    try end?.get()
    throw .noHead
  }

  /// Returns the next part of the body. Nil at its end.
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

  /// The trailers. Nil if there are none, and before the end of the body was read.
  var trailers: HTTPFields? {
    state.withLock { state in state.next == state.chunks.count ? state.trailers : nil }
  }

  // MARK: A request, in a task

  /// Adds a part, and returns when the loop has taken it or wants no more.
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

  /// Returns the next part of the body, or a success of nil at its end. Nil if the next part has not arrived yet.
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
