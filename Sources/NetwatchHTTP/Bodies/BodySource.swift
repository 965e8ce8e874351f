import FoundationEssentials
import Netwatch
import NetwatchLibC

/// The result of asking a body for its next bytes.
package enum BodySupply {
  /// The number of bytes that were written. 0 at the end of the body.
  case bytes(Int)
  /// There are no bytes yet.
  case paused
  /// The body has failed.
  case failed
}

/// A source of a request's body. Belongs to the loop.
package protocol BodySource: AnyObject {
  /// Writes the next bytes of the body into `room`.
  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply
  /// Whether ``rewind()`` may succeed.
  var canRewind: Bool { get }
  /// Begins the body again.
  ///
  /// - Returns: False if the bytes that were sent cannot be made again.
  func rewind() -> Bool
  /// The error of the last ``supply(_:)``. Nil if it has not failed.
  var failure: HTTPError? { get }
}

/// A body that is in memory.
final class DataSource: BodySource {
  private let data: Data
  private var offset = 0
  var failure: HTTPError? { nil }
  var canRewind: Bool { true }

  init(_ data: Data) { self.data = data }

  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    let count = min(room.count, data.count - offset)
    let start = data.startIndex + offset
    unsafe room.copyBytes(from: data[start..<(start + count)])
    offset += count
    return .bytes(count)
  }

  func rewind() -> Bool {
    offset = 0
    return true
  }
}

/// A body in a file, which is read while it is sent.
final class FileSource: BodySource {
  private let descriptor: OpenFile
  private let path: String
  private(set) var failure: HTTPError?
  var canRewind: Bool { true }

  init(path: String) throws(HTTPError) {
    self.path = path
    descriptor = try OpenFile(reading: path)
  }

  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    let count = unsafe read(descriptor.number, room.baseAddress, room.count)
    guard count >= 0 else {
      failure = HTTPError(file: path, "read")
      return .failed
    }
    return .bytes(count)
  }

  func rewind() -> Bool { lseek(descriptor.number, 0, SEEK_SET) == 0 }
}

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

/// Sends a body in packets, with a pause after each. Belongs to the loop.
final class ThrottledSource<Time: Clock<Duration>>: BodySource {
  private let source: any BodySource
  private let packetSize: Int
  private let delay: Duration
  private let clock: Time
  private let wake: @Sendable () -> Void
  /// The bytes left of the packet.
  private var left: Int
  private var restEnds: Time.Instant?
  private var alarm: Task<Void, Never>?

  var failure: HTTPError? { source.failure }
  var canRewind: Bool { source.canRewind }

  /// - Parameter packetSize: The size of a packet in bytes, at least 1.
  init(
    _ source: any BodySource, packetSize: Int, delay: Duration, clock: Time, wake: @escaping @Sendable () -> Void
  ) {
    self.source = source
    self.packetSize = packetSize
    self.delay = delay
    self.clock = clock
    self.wake = wake
    left = packetSize
  }

  deinit { alarm?.cancel() }

  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    if let end = restEnds {
      guard clock.now >= end else {
        sleep(until: end)
        return .paused
      }
      (restEnds, alarm, left) = (nil, nil, packetSize)
    }
    let supply = unsafe source.supply(UnsafeMutableRawBufferPointer(rebasing: room.prefix(left)))
    if case .bytes(let count) = supply {
      left -= count
      if left <= 0 { restEnds = clock.now.advanced(by: delay) }
    }
    return supply
  }

  private func sleep(until end: Time.Instant) {
    alarm?.cancel()
    let (clock, wake) = (clock, wake)
    alarm = Task {
      try? await clock.sleep(until: end, tolerance: nil)
      if !Task.isCancelled { wake() }
    }
  }

  /// Begins the body again. A pause that has begun continues.
  func rewind() -> Bool { source.rewind() }
}

extension HTTPBody {
  /// Returns the body, sent in packets with a pause after each.
  ///
  /// - Parameters:
  ///   - packetSize: The size of a packet in bytes. At least 1.
  ///   - delay: The pause after each packet.
  public func throttled(packetSize: Int, delay: Duration) -> HTTPBody {
    throttled(packetSize: packetSize, delay: delay, clock: ContinuousClock())
  }

  func throttled(packetSize: Int, delay: Duration, clock: some Clock<Duration>) -> HTTPBody {
    let open = open
    return HTTPBody(length: length, contentType: contentType, contentEncoding: contentEncoding, at: .elsewhere) {
      wake throws(HTTPError) in
      ThrottledSource(try open(wake), packetSize: max(packetSize, 1), delay: delay.asDelay, clock: clock, wake: wake)
    }
  }
}
