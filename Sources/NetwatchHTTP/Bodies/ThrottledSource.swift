import Netwatch

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
