import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Synchronization
import Testing

@testable import NetwatchLines
@testable import NetwatchNetlink
@testable import NetwatchStream

/// A service without netlink. It runs on a thread of its own, and its socket is in a folder of its own.
final class TestService: Sendable {
  let address: ServiceAddress
  private let handle: LoopHandle
  private let folder: TemporaryFolder
  private let questions: Questions

  /// How often the service has asked the kernel about the quality of the link, and a driver about the WiFi network.
  var asked: (quality: Int, wifi: Int) {
    (questions.quality.load(ordering: .relaxed), questions.wifi.load(ordering: .relaxed))
  }

  /// How often no client had wanted events for a while, so that the service rested.
  var restCount: Int { questions.rests.load(ordering: .relaxed) }

  private final class Questions: Sendable {
    let quality = Atomic(0)
    let wifi = Atomic(0)
    let rests = Atomic(0)
  }

  /// - Parameter clock: The clock of the service. Default: the kernel's clock.
  init(
    connectionLimit: Int = 64, memoryLimit: Int = 64 << 20, at address: ServiceAddress? = nil,
    by clock: ManualClock? = nil
  ) throws {
    folder = try TemporaryFolder()
    let address = address ?? ServiceAddress(path: folder.file("s"))
    self.address = address
    let questions = Questions()
    self.questions = questions
    handle = try EventLoop.startInBackground(name: "test-service", by: clock) { loop in
      let core = try Core(
        ListeningSocket(at: address), on: loop, connectionLimit: connectionLimit, memoryLimit: memoryLimit, questions)
      core.publish()
      loop.onTurnEnd = { core.publishIfChanged() }
      return loop.handle
    }
  }

  func stop() {
    handle.submit { loop in
      loop.onTurnEnd = nil
      loop.stop()
    }
  }

  deinit { stop() }

  /// Starts a service at the address of another one, which may still be ending on its own thread and hold the address
  /// until then.
  static func again(
    at address: ServiceAddress, by clock: ManualClock? = nil, at place: SourceLocation = #_sourceLocation
  ) throws -> TestService {
    var service: TestService?
    try eventually(Result { service = try TestService(at: address, by: clock) }, at: place) { (try? $0.get()) != nil }
    return try #require(service)
  }

  /// The time at which the service's next timer fires; nil if no timer is set.
  var nextDeadline: Duration? {
    get throws { try handle.call { loop, answer in answer.fulfill(.success(loop.nextDeadline)) } }
  }

  /// The server and what it reports about. It is used only on the loop's thread.
  private final class Core: EventServer.Provider {
    private let loop: EventLoop
    private let questions: Questions
    private var server: EventServer?
    private var counter: ActivityCounter?
    private var traffic: TrafficSampler?
    private var quality: QualitySampler?
    private var reason: EventRecord.ActivityReason?
    private var sequence: UInt64 = 0
    /// The number of bytes that the link has received, as the service tells its clients.
    private var bytes: UInt64 = 0

    init(_ socket: ListeningSocket, on loop: EventLoop, connectionLimit: Int, memoryLimit: Int, _ questions: Questions)
      throws
    {
      self.loop = loop
      self.questions = questions
      counter = ActivityCounter(ActivitySettings(), on: loop) { [unowned self] why, _ in reason = why }
      traffic = TrafficSampler(
        on: loop,
        reading: { [unowned self] link, _ in
          bytes += 1_000
          let traffic = LinkTraffic(
            kernelName: link.name, interfaceIndex: link.index, receivedBytes: bytes, sentBytes: 0)
          return TrafficMeter.Sample(traffic, at: self.loop.now, suspendedTime: .zero)
        },
        emit: { [unowned self] interval, traffic, _ in
          server?.publish(traffic, every: interval)
        })
      traffic?.count([JSONLineTests.path().carrier].compactMap { $0 })
      quality = QualitySampler(
        on: loop,
        listing: { _ in
          questions.quality.add(1, ordering: .relaxed)
          return nil
        },
        addresses: { [] }, warn: { _ in }, emit: { [unowned self] quality, _ in server?.publish(quality) })
      server = try EventServer(
        socket, of: self, on: loop, connectionLimit: connectionLimit, memoryLimit: memoryLimit)
    }

    // MARK: What the server asks for

    var statistics: ServiceStatistics { ServiceStatistics(transitions: 5, netlinkOverruns: 6) }

    func requestsChanged(to count: Int) { counter?.setRequests(count) }

    func prepareGreeting(_ greet: @escaping () -> Void) { greet() }

    func lastSubscriberLeft() { questions.rests.add(1, ordering: .relaxed) }

    func sampleTraffic(every intervals: Set<Duration>) { traffic?.setIntervals(intervals) }

    func sampleQuality(_ isWanted: Bool) -> LinkQuality? {
      if isWanted { quality?.follow(JSONLineTests.path()) } else { quality?.stop() }
      return quality?.figures
    }

    func report(_ wifi: WiFiReporting) -> WiFiConnection? {
      questions.wifi.add(1, ordering: .relaxed)
      return WiFiConnection()
    }

    // MARK: What the service tells

    func publish() {
      sequence += 1
      var record = JSONLineTests.record(JSONLineTests.path(), reason == nil ? .reachability : .activity)
      record.sequence = sequence
      if let counter { record.activity = counter.activity }
      if let reason { record.activityReason = reason }
      server?.publish(record)
    }

    func publishIfChanged() {
      guard reason != nil else { return }
      publish()
      reason = nil
    }
  }
}

/// A client that reads lines from a service, with a time limit.
final class TestClient {
  private let descriptor: FileDescriptor
  private var input: [UInt8] = []

  init(_ service: TestService) throws {
    guard let descriptor = try? service.address.connect() else {
      throw PlainError("nobody listens at \(service.address.path)")
    }
    self.descriptor = descriptor
    var time = timeval(tv_sec: Int(30 * patience), tv_usec: 0)
    unsafe setsockopt(self.descriptor.rawValue, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    _ = fcntl(self.descriptor.rawValue, F_SETFL, 0)
  }

  func write(_ text: String) { write(Array(text.utf8)) }

  func write(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe send(descriptor.rawValue, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  func shutWriting() { shutdown(descriptor.rawValue, CInt(SHUT_WR)) }

  /// Reads the next line, without its newline. Returns nil at the end. If nothing comes in time, the test fails and the
  /// result is nil.
  func line() -> String? {
    while true {
      if let end = input.firstIndex(of: UInt8(ascii: "\n")) {
        defer { input.removeSubrange(...end) }
        return String(decoding: input[..<end], as: UTF8.self)
      }
      var buffer = [UInt8](repeating: 0, count: 4_096)
      let count = unsafe recv(descriptor.rawValue, &buffer, buffer.count, 0)
      if count < 0 {
        Issue.record("no line has come in \(30 * patience) s, only '\(String(decoding: input, as: UTF8.self))'")
      }
      guard count > 0 else { return nil }
      input += buffer[..<count]
    }
  }

  /// Reads the next event, and skips answers.
  func event() -> EventRecord? {
    while let line = line() {
      if let record = EventRecord(line: Array(line.utf8)[...]) { return record }
    }
    return nil
  }

  /// Reads the next answer, and skips events, because a timer of the indicator may fire at any time before events are
  /// switched off.
  func answer() -> String? {
    while let line = line() { if EventRecord(line: Array(line.utf8)[...]) == nil { return line } }
    return nil
  }

  /// Sends a line, and returns the answer to it.
  func answer(to line: String) -> String? {
    write(line + "\n")
    return answer()
  }

  /// Reads events until one has `count` requests in flight, and returns that event.
  func event(inFlight count: Int) -> EventRecord? {
    while let event = event() { if event.activity.inFlight == count { return event } }
    return nil
  }
}
