import FoundationEssentials
import HTTPTypes
import Netwatch

/// An attempt that an ``HTTPTransport`` makes instead of libcurl.
final class TransportAttempt: Attempt {
  /// What the transport's Swift task has for the loop.
  enum News: Sendable {
    case head(Result<HTTPResponse, HTTPError>)
    /// The body has a part that has not been read, or has ended.
    case body
  }

  private unowned let transfer: any AttemptDelegate
  private let request: HTTPRequest
  private let body: HTTPBody?
  private let transport: any HTTPTransport
  private let length: Int64?
  /// The parts of the body on their way to the loop.
  private let buffer = BodyBuffer()
  private let emit: @Sendable (News) -> Void
  private let began: Duration
  private var task: Task<Void, Never>?
  /// A part of the body that was not taken yet.
  private var held: Data?
  private var isOver = false

  private(set) var head: ResponseHead?
  private(set) var hasAnswer = false
  var trailers: HTTPFields? { nil }
  var source: (any BodySource)? { nil }
  var isBegun: Bool { true }
  var hasSent: Bool? { nil }
  var peers: [InternetAddress]? { nil }
  var hasLostConnection: Bool { false }

  /// - Parameters:
  ///   - length: The length of the response's body, if it is known better than from the head.
  ///   - emit: Has ``handle(_:)`` called on the loop. It is called in any thread.
  init(
    _ request: HTTPRequest, _ body: HTTPBody?, by transport: any HTTPTransport, length: Int64? = nil,
    for transfer: any AttemptDelegate, emit: @escaping @Sendable (News) -> Void
  ) {
    self.request = request
    self.body = body
    self.transport = transport
    self.length = length
    self.transfer = transfer
    self.emit = emit
    began = transfer.now
  }

  deinit { close() }

  var metrics: HTTPMetrics {
    var metrics = HTTPMetrics()
    metrics.total = max(transfer.now - began, .zero)
    metrics.bytesSent = transfer.progress.sent
    metrics.bytesReceived = transfer.progress.received
    return metrics
  }

  func start() {
    buffer.onNews { [emit] in emit(.body) }
    let body = body.flatMap { $0.isEmpty ? nil : $0 }
    task = Task { [request, transport, buffer, emit] in
      await TransportAttempt.fetch(request, body, transport, buffer, emit)
    }
  }

  private static func fetch(
    _ request: HTTPRequest, _ body: HTTPBody?, _ transport: any HTTPTransport, _ buffer: BodyBuffer,
    _ emit: @Sendable (News) -> Void
  ) async {
    do throws(HTTPError) {
      let answer = try await transport.send(request, body: body)
      emit(.head(.success(answer.response)))
      buffer.finish(await pass(answer, to: buffer))
    } catch {
      emit(.head(.failure(error)))
    }
  }

  private static func pass(_ answer: HTTPTransportAnswer, to buffer: BodyBuffer) async -> Result<Void, HTTPError> {
    do {
      try await answer.body { part in if !part.isEmpty { await buffer.put(part) } }
      return .success(())
    } catch {
      return .failure(HTTPError(ofTransport: error, "response"))
    }
  }

  func close() {
    isOver = true
    task?.cancel()
    buffer.finish(.success(()))
  }

  func pause() {}

  func lookedUp(_ answer: NameLookups.Answer) {}

  func loses(_ lost: [(socket: CInt, connection: Connection)]) -> InternetAddress? { nil }

  func handle(_ news: News) {
    guard !isOver else { return }
    if case .head(let result) = news {
      transfer.hasMoved()
      switch result {
      case .success(let response): take(response)
      case .failure(let failure): return end(isComplete: false, failure)
      }
    }
    proceed()
  }

  private func take(_ response: HTTPResponse) {
    hasAnswer = true
    if let length = body?.length, length > 0 { transfer.sent(length) }
    let head = ResponseHead(response, length: length)
    self.head = head
    if !transfer.received(head) { end(isComplete: false) }
  }

  /// Reads the parts of the body that have arrived, until the reader has enough.
  func proceed() {
    while !isOver, hasAnswer, !transfer.isSuspended, !transfer.isAsking {
      if held == nil {
        switch buffer.poll() {
        case nil: return
        case .success(nil): return end(isComplete: true)
        case .failure(let failure): return end(isComplete: false, failure)
        case .success(let part): held = part
        }
      }
      guard let part = held else { return }
      switch unsafe part.withUnsafeBytes({ unsafe transfer.received(body: $0) }) {
      case .taken: held = nil
      case .paused: return
      case .refused: return end(isComplete: false)
      }
    }
  }

  private func end(isComplete: Bool, _ failure: HTTPError? = nil) {
    guard !isOver else { return }
    isOver = true
    transfer.ended(isComplete: isComplete, failure)
  }
}
