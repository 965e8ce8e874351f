import FoundationEssentials
import Netwatch

extension HTTPBody {
  /// Returns a body that is made while it is sent: each part is requested after the one before was sent.
  ///
  /// The body can be sent once only. The task fails if a redirect or a challenge requires it again.
  ///
  /// - Parameters:
  ///   - parts: The parts of the body.
  ///   - length: The exact length in bytes. Default: nil, it is not known, and the body is sent in chunks.
  ///   - contentType: The content type. Default: nil, none is sent.
  public static func sequence<Parts: AsyncSequence & Sendable>(
    _ parts: Parts, length: Int64? = nil, contentType: String? = nil
  ) -> HTTPBody where Parts.Element == Data {
    let isTaken = Lock(false)
    return HTTPBody(length: length, contentType: contentType) { wake throws(HTTPError) in
      let isFirst = isTaken.withLock { isTaken in
        defer { isTaken = true }
        return !isTaken
      }
      guard isFirst else {
        throw HTTPError(.cannotEncodeRequest, "send body", message: "a sequence can be sent only once")
      }
      return SequenceSource(wake, canBeginAgain: false) { parts }
    }
  }

  /// Returns a body whose parts are made again each time that it has to be sent.
  ///
  /// - Parameters:
  ///   - length: The exact length in bytes. Nil if it is not known.
  ///   - contentType: The content type. Nil for none.
  ///   - makeParts: Makes the parts.
  package static func sequence<Parts: AsyncSequence & Sendable>(
    length: Int64?, contentType: String?, makeParts: @escaping @Sendable () -> Parts
  ) -> HTTPBody where Parts.Element == Data {
    HTTPBody(length: length, contentType: contentType) { wake in
      SequenceSource(wake, canBeginAgain: true, makeParts)
    }
  }
}

/// Sends the parts of an asynchronous sequence, one at a time. Belongs to the loop.
final class SequenceSource: BodySource {
  private let begin: (BodyBuffer) -> Task<Void, Never>
  private let wake: @Sendable () -> Void
  private let canBeginAgain: Bool
  private var buffer = BodyBuffer()
  private var task: Task<Void, Never>
  private var part = Data()
  private(set) var failure: HTTPError?
  private var hasBegun = false
  var canRewind: Bool { canBeginAgain || !hasBegun }

  init<Parts: AsyncSequence & Sendable>(
    _ wake: @escaping @Sendable () -> Void, canBeginAgain: Bool, _ makeParts: @escaping @Sendable () -> Parts
  ) where Parts.Element == Data {
    self.wake = wake
    self.canBeginAgain = canBeginAgain
    begin = { buffer in
      buffer.onNews(wake)
      let parts = makeParts()
      return Task {
        do {
          for try await part in parts where !part.isEmpty {
            await buffer.put(part)
            if Task.isCancelled { return }
          }
          buffer.finish(.success(()))
        } catch {
          let failure = error as? HTTPError ?? HTTPError(.cannotEncodeRequest, "send body", underlying: error)
          buffer.finish(.failure(failure))
        }
      }
    }
    task = begin(buffer)
  }

  deinit { stop() }

  private func stop() {
    task.cancel()
    buffer.finish(.success(()))
  }

  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    if part.isEmpty {
      switch buffer.poll() {
      case nil: return .paused
      case .success(let next?): part = next
      case .success(nil): return .bytes(0)
      case .failure(let failure):
        self.failure = failure
        return .failed
      }
    }
    hasBegun = true
    let count = min(room.count, part.count)
    unsafe room.copyBytes(from: part.prefix(count))
    part = part.dropFirst(count)
    return .bytes(count)
  }

  func rewind() -> Bool {
    guard hasBegun else { return true }
    guard canBeginAgain else { return false }
    stop()
    buffer = BodyBuffer()
    (part, failure, hasBegun) = (Data(), nil, false)
    task = begin(buffer)
    return true
  }
}
