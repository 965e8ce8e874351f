import CLinux
import Glibc
import Netwatch
import NetwatchEventLoop

/// Sends the stream to every client of a socket, and counts the requests that clients begin.
///
/// The server belongs to the thread of its loop. It does not wait for slow clients; see `ClientConnection`.
@safe package final class EventServer {
  /// The default of the most open connections: 1,024.
  package static let standardConnectionLimit = 1_024
  /// The most connections that are accepted before the loop handles other events.
  private static let acceptsPerTurn = 64
  /// The size of the kernel's send buffer for each client, in bytes; the kernel uses twice as much.
  private static let sendBuffer: CInt = 16 << 10

  let loop: EventLoop
  private let socket: ListeningSocket
  private let connectionLimit: Int
  private let identity: ServiceIdentity
  private let requestsChanged: (_ count: Int) -> Void
  private let generalStatistics: () -> ServiceStatistics
  private let prepareGreeting: (_ greet: @escaping () -> Void) -> Void
  private let lastSubscriberLeft: () -> Void
  private var registration: EventLoop.Registration?
  private(set) var clients: [ObjectIdentifier: ClientConnection] = [:]
  /// The clients that have not received their first line. The server does not read from them before.
  private var arrivals: [ClientConnection] = []
  private var strangers: StrangerCounts
  private var memory: ClientMemory
  private var isShortOfMemory = false
  private var requestCount = 0
  var writer = JSONLineWriter()
  /// The writer of lines that not every client gets.
  var figureWriter = JSONLineWriter()
  /// The timer of the traffic lines; nil until a client asks for them.
  var trafficClock: TrafficClock?
  let sampleTraffic: (NetworkPath) -> TrafficMeter.Sample?
  let reportWiFi: (WiFiReporting) -> WiFiConnection?
  var wifiAllowance = QuestionAllowance()
  /// The timer of the next question about the WiFi network; nil until clients ask too often.
  var wifiTimer: LoopTimer?
  /// The clients that get the current values with the next question.
  var wifiAskers: Set<ObjectIdentifier> = []
  /// The timer of the quality samples; nil until a client asks for them.
  var qualityTimer: LoopTimer?
  /// The figures of the last sample, and its time.
  var quality: LinkQuality?
  var qualityTime: Duration?
  let lookAtQuality: (_ isFirst: Bool) -> LinkQuality?
  private var greeter = JSONLineWriter()
  private var isGreeterStale = true
  var newest: EventRecord?
  /// A descriptor that is closed for a moment if no other is left, so that a client can be refused with a message.
  private var spare: FileDescriptor?
  private let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)

  /// Creates a server that accepts clients at once.
  ///
  /// - Parameters:
  ///   - socket: The socket that clients connect to.
  ///   - loop: The loop that the server belongs to.
  ///   - connectionLimit: The most clients that may be connected. Default: 1,024.
  ///   - memoryLimit: The most bytes that clients may make the server keep. Default: 64 MiB.
  ///   - identity: The identity of the service, for the first line of each connection.
  ///   - requestsChanged: The closure that is called when a client has changed the number of running requests, also by its end.
  ///   - statistics: The closure that returns the counters of the service as a whole. The server adds those of its clients.
  ///   - sampleTraffic: The closure that reads the counters of the link that carries a path; nil if no link does.
  ///   - reportWiFi: The closure that gets what clients ask of the WiFi network from now on. It returns the current values.
  ///   - lookAtQuality: The closure that samples the quality of the link that carries the path; nil if it is not known.
  ///     `isFirst` is true if there was no sample for a while.
  ///   - prepareGreeting: The closure that is called when clients have connected, which get the state when it calls `greet`.
  ///   - lastSubscriberLeft: The closure that is called when no client wants events any more.
  /// - Throws: A `SystemError` if the loop cannot watch the socket.
  package init(
    _ socket: ListeningSocket, on loop: EventLoop, connectionLimit: Int = EventServer.standardConnectionLimit,
    memoryLimit: Int = 64 << 20, identity: ServiceIdentity = ServiceIdentity(),
    requestsChanged: @escaping (_ count: Int) -> Void, statistics: @escaping () -> ServiceStatistics,
    sampleTraffic: @escaping (NetworkPath) -> TrafficMeter.Sample? = { _ in nil },
    reportWiFi: @escaping (WiFiReporting) -> WiFiConnection? = { _ in nil },
    lookAtQuality: @escaping (_ isFirst: Bool) -> LinkQuality? = { _ in nil },
    prepareGreeting: @escaping (_ greet: @escaping () -> Void) -> Void = { greet in greet() },
    lastSubscriberLeft: @escaping () -> Void = {}
  ) throws(SystemError) {
    self.loop = loop
    self.socket = socket
    self.connectionLimit = connectionLimit
    strangers = StrangerCounts(connectionLimit: connectionLimit)
    memory = ClientMemory(limit: memoryLimit)
    self.identity = identity
    self.requestsChanged = requestsChanged
    generalStatistics = statistics
    self.sampleTraffic = sampleTraffic
    self.reportWiFi = reportWiFi
    self.lookAtQuality = lookAtQuality
    self.prepareGreeting = prepareGreeting
    self.lastSubscriberLeft = lastSubscriberLeft
    openSpare()
    registration = try loop.watch(socket.descriptor.rawValue, for: .readable) { [unowned self] _ in acceptClients() }
  }

  deinit {
    if let registration { loop.remove(registration) }
    for client in clients.values { if let registration = client.registration { loop.remove(registration) } }
    unsafe readBuffer.deallocate()
  }

  /// The number of clients that want events.
  package var subscriberCount: Int { clients.values.count { $0.wantsEvents } }

  /// Sends `record` to every client that wants events. From now on it is the first record of new clients.
  package func publish(_ record: EventRecord) {
    isGreeterStale = true
    if record.event == .wifi { return tellWiFi(record) }
    newest = record
    writer.write(record.withoutWiFiDetails)
    var gone: [ClientConnection] = []
    for client in clients.values where client.wantsEvents && client.registration != nil {
      client.wifi.note(record)
      let wasWaiting = client.interest.contains(.writable)
      let isThere = withNewestLine(for: client) { client.offer($0) }
      if noteSize(of: client) && memory.isExhausted || !isThere { gone.append(client) }
      if !wasWaiting, client.interest.contains(.writable) { waitFor(client) }
    }
    for client in gone { drop(client) }
    adaptToMemory()
  }

  /// Calls `body` with the newest line. A client's first line also has the identity of the service.
  private func withNewestLine<Result>(for client: ClientConnection, _ body: (RawSpan) -> Result) -> Result {
    if client.isGreeted {
      guard client.wifi.reporting.isWanted, let newest else { return writer.withLine(body) }
      figureWriter.write(newest.withWiFi(client.wifi.reporting))
      return figureWriter.withLine(body)
    }
    if isGreeterStale, let newest {
      greeter.write(newest.withoutWiFiDetails.asInitial, service: identity)
      isGreeterStale = false
    }
    return greeter.withLine(body)
  }

  // MARK: Clients come

  private func openSpare() {
    let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    spare = descriptor >= 0 ? FileDescriptor(owning: descriptor) : nil
  }

  private func acceptClients() {
    for _ in 0..<Self.acceptsPerTurn {
      let descriptor = accept4(
        socket.descriptor.rawValue, nil, nil, CInt(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
      if descriptor >= 0 {
        welcome(FileDescriptor(owning: descriptor))
        continue
      }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: if !refuseOne() { return }
      default: return
      }
    }
  }

  /// Refuses one client. If no descriptor is left, the listening socket would stay readable and this loop would spin.
  private func refuseOne() -> Bool {
    spare = nil
    let descriptor = accept4(socket.descriptor.rawValue, nil, nil, CInt(SOCK_CLOEXEC.rawValue))
    if descriptor >= 0 { refuse(FileDescriptor(owning: descriptor), "the service has no descriptor left") }
    openSpare()
    return descriptor >= 0
  }

  private func refuse(_ descriptor: consuming FileDescriptor, _ message: String) {
    var text = ProtocolError.line(message)
    let number = descriptor.rawValue
    text.withUTF8 { text in _ = unsafe send(number, text.baseAddress, text.count, CInt(MSG_NOSIGNAL)) }
  }

  private func welcome(_ descriptor: consuming FileDescriptor) {
    guard let peer = Peer(of: descriptor.rawValue) else { return }
    let isOwner = peer.isOwnUser
    guard isOwner || socket.servesEveryone else {
      return refuse(descriptor, "this socket belongs to another user")
    }
    guard clients.count < connectionLimit else {
      return refuse(descriptor, "the service has \(connectionLimit) connections already")
    }
    let mayBegin = isOwner || peer.isRoot
    if !mayBegin, let reason = strangers.add(peer.user) { return refuse(descriptor, reason) }
    var size = Self.sendBuffer
    unsafe setsockopt(descriptor.rawValue, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
    let client = ClientConnection(descriptor, user: peer.user, mayBegin: mayBegin)
    client.isShort = isShortOfMemory
    clients[ObjectIdentifier(client)] = client
    greetSoon(client)
  }

  private func greetSoon(_ client: ClientConnection) {
    // The kernel's messages that came before the client are read first. Otherwise, a service that was suspended would send an
    // old state.
    if arrivals.isEmpty {
      loop.schedule(after: .zero) { [weak self] in
        self?.prepareGreeting { self?.greetArrivals() }
      }
    }
    arrivals.append(client)
  }

  private func greetArrivals() {
    let greeted = arrivals
    arrivals = []
    for client in greeted where clients[ObjectIdentifier(client)] === client {
      if client.registration == nil {
        client.registration = try? loop.watch(client.descriptor.rawValue, for: .readable) {
          [unowned self, unowned client] readiness in
          finish(client, isThere: exchange(with: client, readiness))
        }
      }
      guard client.registration != nil else {
        drop(client)
        continue
      }
      // A client that has already received a change does not need a greeting.
      guard newest != nil, client.wantsEvents, !client.isGreeted else { continue }
      finish(client, isThere: withNewestLine(for: client) { client.offer($0) })
    }
  }

  // MARK: Clients speak

  /// Reads from and writes to a client.
  ///
  /// - Returns: False if the client is gone or has to go. This also holds for the methods below.
  private func exchange(with client: ClientConnection, _ readiness: EventLoop.Readiness) -> Bool {
    if readiness.contains(.writable) {
      let isOwed = newest != nil && client.wantsEvents
      let isThere = isOwed ? withNewestLine(for: client) { client.flush(newest: $0) } : client.flush(newest: nil)
      // Then handles lines that have waited for room.
      guard isThere, unsafe obey(UnsafeRawBufferPointer(start: nil, count: 0), of: client) else { return false }
    }
    guard readiness.contains(.readable), client.interest.contains(.readable) else { return !readiness.hasHungUp }
    guard let count = unsafe client.read(into: readBuffer) else { return false }
    if count > 0 { return unsafe obey(UnsafeRawBufferPointer(rebasing: readBuffer[..<count]), of: client) }
    // A client that has closed its writing side may still read.
    return !client.isInputOver || !readiness.hasHungUp
  }

  private func obey(_ bytes: UnsafeRawBufferPointer, of client: ClientConnection) -> Bool {
    var isThere = true
    let isShort = unsafe client.splitLines(bytes) { line in
      isThere = obey(line, of: client)
      return isThere
    }
    return isShort ? isThere : client.end(because: "a line has at most \(ClientConnection.lineLimit) bytes")
  }

  private func obey(_ line: ArraySlice<UInt8>, of client: ClientConnection) -> Bool {
    do throws(ProtocolError) {
      return try obey(try ClientMessage(line), of: client)
    } catch {
      switch error {
      case .notUnderstood: return client.answer(error.line)
      case .limit(let message): return client.end(because: message)
      }
    }
  }

  private func obey(_ message: ClientMessage, of client: ClientConnection) throws(ProtocolError) -> Bool {
    switch message {
    case .begin(let id, let label): try begin(id, label, for: client)
    case .end(let id):
      guard client.mayBegin else { throw .notUnderstood("only root and the service's own user may end requests here") }
      guard client.requests.end(id) else { throw .notUnderstood("no request with this id runs on this connection") }
      changeRequestCount(by: -1)
    case .events(let isOn):
      client.wantsEvents = isOn
      if isOn { tellAnew(client) } else { noteLoss() }
      noteFigures(of: client)
    case .traffic(let interval):
      client.trafficInterval = interval
      setTrafficClock()
    case .signal(let changes):
      client.wifi.reporting.signal = changes
      return answerWiFi(client)
    case .wifiDetails(let isOn):
      client.wifi.reporting.includesDetails = isOn
      return answerWiFi(client)
    case .accessPoint(let isOn):
      client.wifi.reporting.includesAccessPoint = isOn
      return answerWiFi(client)
    case .quality(let isOn):
      client.quality = isOn ? QualityNews() : nil
      return answerQuality(client)
    case .ping: return client.answer(ClientMessage.pong)
    case .stats: return client.answer(statistics(for: client).line)
    }
    return true
  }

  private func begin(_ id: String, _ label: String?, for client: ClientConnection) throws(ProtocolError) {
    guard client.mayBegin else { throw .notUnderstood("only root and the service's own user may begin requests here") }
    guard !client.requests.isRunning(id) else { return }
    guard client.requests.count < ClientMessage.requestLimit else {
      throw .limit("at most \(ClientMessage.requestLimit) requests may run on one connection")
    }
    let growth = client.requests.growth(by: id, label: label)
    guard memory.allowsRequest(of: growth) else {
      throw .notUnderstood("the memory for requests is used up; end some first")
    }
    client.requests.begin(id, label: label)
    changeRequestCount(by: 1)
  }

  /// Sends the state to a client at once, as after it has connected.
  private func tellAnew(_ client: ClientConnection) {
    client.isGreeted = false
    if !arrivals.contains(where: { $0 === client }) { greetSoon(client) }
  }

  /// Returns the counters and labels that the user of a client may know.
  private func statistics(for client: ClientConnection) -> ServiceStatistics {
    var statistics = generalStatistics()
    statistics.subscribers = subscriberCount
    statistics.requests = requestCount
    guard client.mayBegin else { return statistics }
    var counts: [String: Int] = [:]
    for other in clients.values where client.user == 0 || other.user == client.user {
      other.requests.forEachLabel { counts[$0, default: 0] += 1 }
    }
    statistics.labels = ServiceStatistics.mostFrequent(counts)
    return statistics
  }

  private func changeRequestCount(by change: Int) {
    requestCount += change
    requestsChanged(requestCount)
  }

  // MARK: Clients go

  /// Ends a turn of a client: drops the client if it is gone or uses too much memory.
  func finish(_ client: ClientConnection, isThere: Bool) {
    guard isThere else { return drop(client) }
    let isMore = noteSize(of: client)
    if isMore, memory.isExhausted {
      client.end(because: "the service keeps too much for its clients")
      drop(client)
    } else {
      waitFor(client)
    }
    adaptToMemory()
  }

  private func adaptToMemory() {
    guard memory.isTight != isShortOfMemory else { return }
    isShortOfMemory = memory.isTight
    for client in clients.values {
      client.isShort = isShortOfMemory
      noteSize(of: client)
    }
  }

  /// Notes the memory that the client uses now. Returns whether it is more than before.
  @discardableResult private func noteSize(of client: ClientConnection) -> Bool {
    let (old, new) = (client.notedSize, client.size)
    memory.change(from: old, to: new)
    client.notedSize = new
    return new > old
  }

  private func waitFor(_ client: ClientConnection) {
    guard let registration = client.registration else { return }
    try? loop.change(registration, to: client.interest)
  }

  private func drop(_ client: ClientConnection) {
    guard clients.removeValue(forKey: ObjectIdentifier(client)) != nil else { return }
    if let registration = client.registration { loop.remove(registration) }
    if !client.mayBegin { strangers.remove(client.user) }
    memory.change(from: client.notedSize, to: 0)
    if client.requests.count > 0 {
      let count = client.requests.count
      client.requests = ClientRequests()
      changeRequestCount(by: -count)
    }
    noteFigures(of: client)
    if client.wantsEvents { noteLoss() }
  }

  private func noteLoss() {
    if !clients.values.contains(where: \.wantsEvents) { lastSubscriberLeft() }
  }
}
