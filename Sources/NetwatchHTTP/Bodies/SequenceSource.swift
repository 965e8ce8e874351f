import FoundationEssentials
import Netwatch

extension HTTPBody {
  /// A body that is made while it is sent: each part is asked for when the one before is on its way.
  ///
  /// It can be sent once. A redirect or a challenge that wants it again fails the task.
  /// - Parameters:
  ///   - parts: of the body.
  ///   - length: The length in bytes, exactly as many as are sent. Default nil: it is not known, and the body is sent in chunks.
  ///   - contentType: Default nil: none is sent.
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
        throw HTTPError(.cannotEncodeRequest, "send body", message: "a sequence can be sent once alone")
      }
      return SequenceSource(parts, wake)
    }
  }
}

/// Sends what an asynchronous sequence yields, one part at a time.
final class SequenceSource: BodySource {
  private let buffer = BodyBuffer()
  private let task: Task<Void, Never>
  private var part = Data()
  private(set) var failure: HTTPError?
  private var hasBegun = false

  init<Parts: AsyncSequence & Sendable>(_ parts: Parts, _ wake: @escaping @Sendable () -> Void)
  where Parts.Element == Data {
    buffer.onNews(wake)
    task = Task { [buffer] in
      do {
        for try await part in parts where !part.isEmpty {
          await buffer.put(part)
          if Task.isCancelled { return }
        }
        buffer.finish(.success(()))
      } catch {
        buffer.finish(.failure(HTTPError(.cannotEncodeRequest, "send body", underlying: error)))
      }
    }
  }

  deinit {
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

  func rewind() -> Bool { !hasBegun }
}
