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
  private let slot: PartSlot
  private let task: Task<Void, Never>
  private var part = Data()
  private(set) var failure: HTTPError?
  private var hasBegun = false

  init<Parts: AsyncSequence & Sendable>(_ parts: Parts, _ wake: @escaping @Sendable () -> Void)
  where Parts.Element == Data {
    let slot = PartSlot(wake)
    self.slot = slot
    task = Task {
      do {
        for try await part in parts where !part.isEmpty {
          await slot.put(part)
          if Task.isCancelled { return }
        }
        slot.end(nil)
      } catch {
        slot.end(HTTPError(.cannotEncodeRequest, "send body", underlying: error))
      }
    }
  }

  deinit {
    task.cancel()
    slot.abandon()
  }

  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    if part.isEmpty {
      switch slot.take() {
      case .part(let next): part = next
      case .nothing: return .paused
      case .end(nil): return .bytes(0)
      case .end(let failure):
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

/// One part on its way from a task to the loop.
private final class PartSlot: Sendable {
  enum Taken: Sendable {
    case part(Data)
    case nothing
    case end(HTTPError?)
  }

  private struct State: Sendable {
    var part: Data?
    var end: Taken?
    var producer: CheckedContinuation<Void, Never>?
    var isWanted = false
    var isAbandoned = false
  }

  private let state = Lock(State())
  private let wake: @Sendable () -> Void

  init(_ wake: @escaping @Sendable () -> Void) { self.wake = wake }

  /// Returns when the part has been taken.
  func put(_ part: Data) async {
    await withCheckedContinuation { continuation in
      let (isWanted, isAbandoned) = state.withLock { state in
        defer { state.isWanted = false }
        if !state.isAbandoned {
          state.part = part
          state.producer = continuation
        }
        return (state.isWanted, state.isAbandoned)
      }
      if isAbandoned { continuation.resume() }
      if isWanted { wake() }
    }
  }

  func end(_ failure: HTTPError?) {
    let isWanted = state.withLock { state in
      state.end = .end(failure)
      return state.isWanted
    }
    if isWanted { wake() }
  }

  func take() -> Taken {
    let (taken, producer) = state.withLock { state -> (Taken, CheckedContinuation<Void, Never>?) in
      guard let part = state.part else {
        state.isWanted = state.end == nil
        return (state.end ?? .nothing, nil)
      }
      defer {
        state.part = nil
        state.producer = nil
      }
      return (.part(part), state.producer)
    }
    producer?.resume()
    return taken
  }

  func abandon() {
    let producer = state.withLock { state in
      state.isAbandoned = true
      defer { state.producer = nil }
      return state.producer
    }
    producer?.resume()
  }
}
