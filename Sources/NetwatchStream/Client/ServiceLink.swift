import Glibc
import Netwatch
import NetwatchEventLoop

/// A connection to the first service that answers, made again when one comes. The service counts requests on our behalf: those
/// that ``requests`` has, whichever service there is.
///
/// It belongs to the thread of its loop. If there is no service, nothing happens; when one comes back, it is told.
package final class ServiceLink {
  /// The socket's file is there before anyone listens, and systemd does not touch it afterwards: after a sign of life, a
  /// few tries, then silence until the next sign.
  private static let retries: [Duration] = [.milliseconds(20), .milliseconds(80), .milliseconds(400)]
  /// A list of every link can be long; what is longer comes from no service of ours.
  private static let lineLimit = 4 << 20
  private static let readSize = 16 << 10

  private let loop: EventLoop
  private let addresses: [ServiceAddress]
  private let record: ((EventRecord) -> Void)?
  private let statistics: (ServiceStatistics) -> Void
  private let lost: () -> Void
  /// The requests that this connection has begun.
  private var told: Set<UInt64> = []
  private var watch: PathWatch?
  private var retry: LoopTimer?
  private var attempt = 0
  /// Whether a service that is lost, or is not there yet, is waited for.
  private var isWaiting = false
  private var socket: FileDescriptor?
  /// Nil while there is no connection.
  private var registration: EventLoop.Registration?
  private var process: CInt?
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  /// Whether the service has said anything but errors: one that refuses us does not.
  private var isWelcome = false

  /// - Parameters:
  ///   - addresses: Where services listen.
  ///   - loop: The loop that the link belongs to.
  ///   - record: Called with each event of the service; nil asks for no events.
  ///   - statistics: Called with the service's counters, if they were asked for.
  ///   - lost: Called when the service is gone.
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

  /// As much of a label as a service takes.
  private static func fitting(_ label: String) -> String {
    var label = label
    while label.utf8.count > ClientMessage.labelLimit { label.unicodeScalars.removeLast() }
    return label
  }

  /// How often the service sends figures of the link that carries the traffic; nil for never. Counts from the next connection on.
  package var trafficInterval: Duration?
  /// Which changes of the WiFi network's signal the service sends; nil for none. Counts from the next connection on.
  package var signalChanges: WiFiReporting.SignalChanges?
  /// Whether the service sends how well the link works that carries the traffic. Counts from the next connection on.
  package var wantsQuality = false
  /// The requests that run, and for each a text about it for people who look at the service; what is beyond 256 bytes of that is
  /// cut off. The service hears of 4,096 of them, those with the lowest numbers.
  package var requests: [UInt64: String?] = [:] { didSet { tellRequests() } }
  package var isConnected: Bool { registration != nil }
  /// Whether what the service says of reachability holds for this process. Known when the service has said anything.
  package private(set) var sharesNetwork = false

  /// Connects to the service if there is one, and waits for one otherwise.
  ///
  /// - Throws: An error if the kernel will not tell of services that come later. If there is one now, the link is connected.
  package func start() throws(SystemError) {
    isWaiting = true
    defer { connect() }
    // The watch first: a service that comes in between is not missed.
    if watch == nil {
      watch = try PathWatch(of: addresses.map(\.path), hearsArrivalsOnly: true, on: loop) { [unowned self] in look() }
    }
  }

  /// Ends the connection, and waits for no other.
  func stop() {
    isWaiting = false
    disconnect()
    watch = nil
    retry?.stop()
  }

  // MARK: Coming and going

  private func look() {
    attempt = 0
    connect()
  }

  /// Connects to the first service that answers.
  func connect() {
    guard !isConnected else { return }
    for address in addresses {
      guard connect(to: address) else { continue }
      if record == nil { send(.events(false)) }
      if let trafficInterval { send(.traffic(every: trafficInterval)) }
      if let signalChanges { send(.signal(signalChanges)) }
      if wantsQuality { send(.quality(true)) }
      return tellRequests()
    }
    tryAgain()
  }

  private func connect(to address: ServiceAddress) -> Bool {
    guard let descriptor = address.connect() else { return false }
    process = Peer(of: descriptor.rawValue)?.process
    registration = try? loop.watch(descriptor.rawValue, for: .readable) { [unowned self] in serve($0) }
    guard isConnected else { return false }
    socket = consume descriptor
    return true
  }

  private func tryAgain() {
    guard isWaiting, attempt < Self.retries.count else { return }
    retry?.set(after: Self.retries[attempt])
    attempt += 1
  }

  private func disconnect() {
    if let registration { loop.remove(registration) }
    registration = nil
    socket = nil
    (input, output, told) = ([], [], [])
  }

  private func lose() {
    let wasWelcome = isWelcome
    isWelcome = false
    disconnect()
    lost()
    guard isWaiting else { return }
    // Who refuses us would be asked for ever.
    if wasWelcome { look() } else { tryAgain() }
  }

  // MARK: Writing

  /// Sends messages, now or when there is room. Without a connection they are dropped.
  func send(_ messages: ClientMessage...) { send(messages) }

  private func send(_ messages: [ClientMessage]) {
    guard isConnected, !messages.isEmpty else { return }
    let wasEmpty = output.isEmpty
    for message in messages { output += Array(message.line.utf8) }
    if wasEmpty { flush() }
  }

  private func tellRequests() {
    guard isConnected else { return }
    var messages: [ClientMessage] = []
    for number in told where requests[number] == nil { messages.append(.end("\(number)")) }
    told.formIntersection(requests.keys)
    if told.count < min(requests.count, ClientMessage.requestLimit) {
      for number in requests.keys.sorted() where told.count < ClientMessage.requestLimit && told.insert(number).inserted
      {
        messages.append(.begin("\(number)", label: requests[number].flatMap { $0 }.map(Self.fitting)))
      }
    }
    send(messages)
  }

  private func flush() {
    guard let registration, let number = socket?.rawValue else { return }
    while !output.isEmpty {
      let count = unsafe output.withUnsafeBytes {
        unsafe Glibc.send(number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      // An error shows as a hang-up too.
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
    if input.count > Self.lineLimit { lose() }
  }

  private func hear(_ value: JSONValue) {
    let event = EventRecord(value)
    let answer = event == nil ? value["stats"].map { ServiceStatistics($0) } : nil
    guard event != nil || answer != nil else { return }
    // In the first line of a connection.
    let identity = value["service"].map { ServiceIdentity($0) }
    if identity != nil || !isWelcome { sharesNetwork = ServiceIdentity.sharesNetwork(identity, of: process) }
    isWelcome = true
    if let event { record?(event) }
    if let answer { statistics(answer) }
  }
}
