import FoundationEssentials
import HTTPTypes

/// The body of a task's response on its way to the caller: without its codings, within its limit, and kept in memory or given to a
/// sink. Belongs to the loop.
struct ResponseBody {
  /// The most memory that is reserved because of the length that a server announces.
  private static let mostReserved: Int64 = 1_024 * 1_024

  /// The destination. Nil: the body is kept in memory.
  private let sink: (any BodySink)?
  /// The most bytes, without codings. Nil for no limit.
  private let limit: Int64?
  private var memory = Data()
  /// The decoder of the body; nil if it is delivered as it arrives.
  private var decoder: BodyDecoder?
  private var length: Int64?
  /// The number of bytes that were delivered.
  private(set) var count: Int64 = 0

  init(_ sink: (any BodySink)?, _ options: HTTPTaskOptions) {
    self.sink = sink
    limit =
      sink == nil
      ? min(options.maximumBytesInMemory, options.maximumResponseBytes ?? .max) : options.maximumResponseBytes
  }

  var isKeptInMemory: Bool { sink == nil }

  /// Whether another attempt may follow one whose body has begun.
  var canContinue: Bool { sink?.canContinue ?? true }

  /// Forgets what an attempt has brought, and its decoder.
  mutating func restart() {
    memory = Data()
    decoder = nil
    count = 0
  }

  /// Makes the request of the next attempt ask for what the sink lacks.
  func askForRest(in request: inout HTTPRequest) throws(HTTPError) { try sink?.askForRest(in: &request) }

  /// Begins with the response that the caller gets.
  ///
  /// - Parameter removesCodings: Whether content codings are removed, because the request has not asked for them itself.
  mutating func begin(_ head: ResponseHead, to request: HTTPRequest, removesCodings: Bool) throws(HTTPError) {
    length = head.bodyLength
    decoder = BodyDecoder(head.codings, removesContentCodings: removesCodings)
    try sink?.begin(head.response, to: request, length: length)
  }

  /// - Parameter taken: Gets each part that the destination has taken.
  mutating func write(
    _ bytes: UnsafeRawBufferPointer, taken: (UnsafeRawBufferPointer) -> Void
  ) throws(HTTPError) -> BodyAcceptance {
    guard let decoder else { return try unsafe deliver(bytes, taken) }
    var failure: HTTPError?
    let acceptance = try unsafe decoder.decode(bytes) { part in
      do throws(HTTPError) {
        return try unsafe deliver(part, taken)
      } catch {
        failure = error
        return .refused
      }
    }
    if let failure { throw failure }
    return acceptance
  }

  private mutating func deliver(
    _ bytes: UnsafeRawBufferPointer, _ taken: (UnsafeRawBufferPointer) -> Void
  ) throws(HTTPError) -> BodyAcceptance {
    let sum = count + Int64(bytes.count)
    if let limit, sum > limit {
      throw HTTPError(.responseTooLarge, "response", message: "more than \(limit) bytes")
    }
    if let sink {
      let acceptance = try unsafe sink.write(bytes)
      guard acceptance == .taken else { return acceptance }
    } else {
      if memory.isEmpty { memory.reserveCapacity(max(bytes.count, Int(min(length ?? 0, Self.mostReserved)))) }
      unsafe memory.append(contentsOf: bytes)
    }
    count = sum
    unsafe taken(bytes)
    return .taken
  }

  /// Checks that the codings are complete, because no byte follows.
  func checkEnd() throws(HTTPError) { try decoder?.end() }

  /// Ends the body with its task.
  mutating func end(_ failure: HTTPError?) throws(HTTPError) -> ReceivedBody {
    defer { memory = Data() }
    return try sink?.end(failure) ?? .data(memory)
  }
}

extension BodyDecoder {
  /// Creates the decoder of a body. Nil if it has no coding to remove.
  fileprivate convenience init?(_ codings: BodyCodings, removesContentCodings: Bool) {
    guard let transfer = codings.transfer else {
      self.init(nil)
      return
    }
    let removed = (removesContentCodings ? codings.content ?? [] : []) + transfer
    if removed.isEmpty { return nil }
    self.init(removed)
  }
}
