import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// A connection to the first service that answers. The service counts the requests in ``requests`` for this process.
///
/// The link belongs to the thread of its loop. If there is no service, nothing happens. When a service starts or comes back,
/// the link connects to it and sends the requests that run. If there is a service but it has no room, or this process has no
/// descriptor left, the link tries again after the pauses of a `Backoff`.
package final class ServiceLink {
  /// The times between attempts to connect. The socket's file exists before a service listens on it, and systemd does not touch
  /// the file afterwards. So each change of the file is followed by a few attempts, and then by none until the next change.
  private static let retries: [Duration] = [.milliseconds(20), .milliseconds(80), .milliseconds(400)]
  /// The longest line in bytes. A list of every link can be long; a longer line does not come from a service of ours.
  private static let longestLine = 4 << 20
  private static let readSize = 16 << 10

  private let loop: EventLoop
  private let addresses: [ServiceAddress]
  private let record: ((EventRecord) -> Void)?
  private let statistics: (ServiceStatistics) -> Void
  private let lost: () -> Void
  /// The requests that the service was told of on this connection.
  private var lastSent = RunningRequests()
  private var watch: PathWatch?
  private var retry: LoopTimer?
  /// The number of attempts since the socket's file has changed.
  private var attempt = 0
  private var backoff = Backoff()
  /// The time of the connection, on the monotonic clock.
  private var connectionTime = Duration.zero
  /// Whether the link waits for a service that is lost or has not started yet.
  private var isWaiting = false
  private var socket: FileDescriptor?
  /// The registration with the loop; nil while there is no connection.
  private var registration: EventLoop.Registration?
  private var process: CInt?
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  /// Whether the service has sent a line that is no error. A service that refuses the connection sends an error alone.
  private var isWelcome = false

  /// Creates a link that is not connected yet.
  ///
  /// - Parameters:
  ///   - addresses: The addresses of services, tried in this order.
  ///   - loop: The loop that the link belongs to.
  ///   - record: The closure that gets each event of the service. Nil, the default, asks for no events.
  ///   - statistics: The closure that gets the service's counters when they were asked for.
  ///   - lost: The closure that is called when the connection to the service is lost.
  package init(
    to addresses: [ServiceAddress] = ServiceAddress.candidates, on loop: EventLoop,
    record: ((EventRecord) -> Void)? = nil, statistics: @escaping (ServiceStatistics) -> Void = { _ in },
    lost: @escaping () -> Void = {}
  ) {
    self.loop = loop
    self.addresses = addresses
    self.record = record
    self.statistics = statistics
    self.lost = lost
    retry = LoopTimer(on: loop) { [unowned self] in connect() }
  }

  deinit { if let registration { loop.remove(registration) } }

  /// The time between two lines with the traffic of the link that carries the path; nil for none. Applies from the next
  /// connection on.
  package var trafficInterval: Duration?
  /// The changes of the WiFi network's signal that the service sends; nil for none. Applies from the next connection on.
  package var signalChanges: WiFiReporting.SignalChanges?
  /// Whether the service sends the quality of the link that carries the path. Applies from the next connection on.
  package var wantsQuality = false
  /// The requests that run in this process.
  package var requests = RunningRequests() { didSet { sendRequests() } }
  /// Whether the counters of the service are asked for at the next connection.
  package var asksForStatistics = false
  /// Whether there is a connection to a service now.
  package var isConnected: Bool { registration != nil }
  /// Whether the last attempt to connect has failed for a reason that passes.
  package private(set) var isBusy = false
  /// Whether the service reports on the network namespace of this process. Known after the first line from the service.
  package private(set) var sharesNetwork = false

  /// Connects to a service if there is one, and waits for one otherwise.
  package func start() {
    isWaiting = true
    // The watch comes first, so that a service that starts in between is not missed.
    watchAddresses()
    connect()
  }

  /// Waits for a service from now on, if there is no connection. A program that ends before it calls this has not asked the kernel to
  /// report the service: taking that back takes up to 20 milliseconds (the kernel waits for its readers, fsnotify_destroy_group).
  package func waitForService() {
    isWaiting = true
    guard !isConnected else { return }
    watchAddresses()
    connect()
  }

  /// If the kernel cannot report services that start later, this is tried again with the next attempt to connect.
  private func watchAddresses() {
    guard watch == nil else { return }
    watch = try? PathWatch(of: addresses.map(\.path), hearsArrivalsOnly: true, on: loop) { [unowned self] in
      connectAnew()
    }
  }

  /// Ends the connection and stops waiting for a service.
  func stop() {
    isWaiting = false
    disconnect()
    watch = nil
    retry?.stop()
  }

  // MARK: Coming and going

  private func connectAnew() {
    attempt = 0
    backoff = Backoff()
    connect()
  }

  /// Connects to the first service that answers.
  package func connect() {
    guard !isConnected else { return }
    retry?.stop()
    isBusy = false
    for address in addresses {
      do throws(SystemError) {
        try connect(to: address)
      } catch {
        if error.isPassing { isBusy = true }
        continue
      }
      if record == nil { send(.events(false)) }
      if let trafficInterval { send(.traffic(every: trafficInterval)) }
      if let signalChanges { send(.signal(signalChanges)) }
      if wantsQuality { send(.quality(true)) }
      if asksForStatistics { send(.stats) }
      return sendRequests()
    }
    tryAgain()
  }

  private func connect(to address: ServiceAddress) throws(SystemError) {
    let descriptor = try address.connect()
    process = Peer(of: descriptor.rawValue)?.process
    registration = try loop.watch(descriptor.rawValue, for: .readable) { [unowned self] in serve($0) }
    socket = consume descriptor
    isBusy = false
    connectionTime = loop.now
  }

  private func tryAgain() {
    if isWaiting { watchAddresses() }
    if isBusy || isWaiting && watch == nil {
      retry?.set(after: backoff.nextPause())
    } else if isWaiting, attempt < Self.retries.count {
      retry?.set(after: Self.retries[attempt])
      attempt += 1
    }
  }

  private func disconnect() {
    if let registration { loop.remove(registration) }
    registration = nil
    socket = nil
    (input, output, lastSent) = ([], [], RunningRequests())
  }

  private func lose() {
    // A service may greet and then close, or refuse each connection, so only a connection that has lasted is a success.
    let hasLasted = isWelcome && loop.now - connectionTime >= Backoff.longest
    isWelcome = false
    disconnect()
    lost()
    guard isWaiting, !isConnected else { return }
    // Before the next attempt, so that a service that starts in between is not missed.
    watchAddresses()
    if hasLasted { connectAnew() } else { retry?.set(after: backoff.nextPause()) }
  }

  // MARK: Writing

  /// Sends messages now, or when the socket has room. Without a connection they are dropped.
  func send(_ messages: ClientMessage...) { send(messages) }

  private func send(_ messages: [ClientMessage]) {
    guard isConnected, !messages.isEmpty else { return }
    let wasEmpty = output.isEmpty
    for message in messages { output += Array(message.line.utf8) }
    if wasEmpty { flush() }
  }

  private func sendRequests() {
    guard isConnected, requests != lastSent else { return }
    lastSent = requests
    send([.running(requests)])
  }

  private func flush() {
    guard let registration, let number = socket?.rawValue else { return }
    while !output.isEmpty {
      let count = unsafe output.withUnsafeBytes {
        unsafe NetwatchLibC.send(number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      // An error also shows as a hang-up.
      guard count > 0 else { break }
      output.removeFirst(count)
    }
    try? loop.change(registration, to: output.isEmpty ? .readable : [.readable, .writable])
  }

  // MARK: Reading

  private func serve(_ readiness: EventLoop.Readiness) {
    if readiness.contains(.writable) { flush() }
    guard readiness.contains(.readable) || readiness.hasHungUp else { return }
    while let number = socket?.rawValue {
      let count = unsafe withUnsafeTemporaryAllocation(byteCount: Self.readSize, alignment: 1) { buffer in
        let count = unsafe recv(number, buffer.baseAddress, buffer.count, 0)
        if count > 0 { unsafe input.append(contentsOf: buffer[..<count]) }
        return count
      }
      if count > 0 {
        readLines()
        if count < Self.readSize { return }
        continue
      }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return }
      return lose()
    }
  }

  private func readLines() {
    let connection = registration
    var lines = input
    input = []
    var start = lines.startIndex
    while let end = lines[start...].firstIndex(of: UInt8(ascii: "\n")) {
      if let value = JSONValue(lines[start..<end]) { hear(value) }
      // A handler may have ended the connection.
      guard registration == connection else { return }
      start = end + 1
    }
    lines.removeSubrange(..<start)
    input = lines
    if input.count > Self.longestLine { lose() }
  }

  private func hear(_ value: JSONValue) {
    let event = EventRecord(value)
    let answer = event == nil ? value["stats"].map { ServiceStatistics($0) } : nil
    guard event != nil || answer != nil else { return }
    // The identity is in the first line of a connection.
    let identity = value["service"].map { ServiceIdentity($0) }
    if identity != nil || !isWelcome { sharesNetwork = ServiceIdentity.sharesNetwork(identity, of: process) }
    isWelcome = true
    if let event { record?(event) }
    if let answer { statistics(answer) }
  }
}
