import CLinux
import Glibc
import Netwatch
import NetwatchEventLoop

/// Hands the stream to every client of a socket, and counts the requests that clients begin.
///
/// On a loop, whose thread it belongs to. Nobody waits for a slow client; see `ClientConnection`.
@safe public final class EventServer {
  public struct Handlers {
    /// The number of requests that run has changed, within a client's message or by its end.
    let requestsChanged: (_ count: Int) -> Void
    /// Of the service as a whole; the number of subscribers is filled in here.
    let statistics: () -> ServiceStatistics
    /// Clients have come, who get the present state when `greet` is called.
    let prepareGreeting: (_ greet: @escaping () -> Void) -> Void
    /// Nobody wants events any more.
    let lastSubscriberLeft: () -> Void

    public init(
      requestsChanged: @escaping (_ count: Int) -> Void, statistics: @escaping () -> ServiceStatistics,
      prepareGreeting: @escaping (_ greet: @escaping () -> Void) -> Void = { greet in greet() },
      lastSubscriberLeft: @escaping () -> Void = {}
    ) {
      self.requestsChanged = requestsChanged
      self.statistics = statistics
      self.prepareGreeting = prepareGreeting
      self.lastSubscriberLeft = lastSubscriberLeft
    }
  }

  /// So many requests may run on behalf of one connection.
  static let requestLimit = 4_096
  /// So many connections may be open, unless the service is told otherwise.
  public static let standardConnectionLimit = 1_024
  /// Connections that are accepted before others have their turn.
  private static let acceptsPerTurn = 64
  /// Of the kernel's buffer for each client; the kernel takes twice as much.
  private static let sendBuffer: CInt = 16 << 10

  private let loop: EventLoop
  private let socket: ListeningSocket
  private let connectionLimit: Int
  private let handlers: Handlers
  private var registration: EventLoop.Registration?
  private var clients: [ObjectIdentifier: ClientConnection] = [:]
  /// Those that have not had their first line, and are not listened to before.
  private var arrivals: [ClientConnection] = []
  private var requestCount = 0
  private var writer = JSONLineWriter()
  private var greeter = JSONLineWriter()
  private var newest: EventRecord?
  /// Given up for a moment where no descriptor is left, to refuse a client properly.
  private var spare: FileDescriptor?
  private let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)

  public init(
    _ socket: ListeningSocket, on loop: EventLoop, connectionLimit: Int = EventServer.standardConnectionLimit,
    handlers: Handlers
  ) throws(SystemError) {
    self.loop = loop
    self.socket = socket
    self.connectionLimit = connectionLimit
    self.handlers = handlers
    openSpare()
    registration = try loop.watch(socket.descriptor.rawValue, for: .readable) { [unowned self] _ in acceptClients() }
  }

  deinit {
    if let registration { loop.remove(registration) }
    for client in clients.values { if let registration = client.registration { loop.remove(registration) } }
    unsafe readBuffer.deallocate()
  }

  public var subscriberCount: Int { clients.values.count { $0.wantsEvents } }

  /// Sends `record` to everyone who wants events; from now on it is what new clients get first.
  public func publish(_ record: EventRecord) {
    newest = record
    writer.write(record)
    var gone: [ClientConnection] = []
    for client in clients.values where client.wantsEvents && client.registration != nil {
      let wasWaiting = client.interest.contains(.writable)
      if case .isGone = writer.withLine({ client.offer($0) }) { gone.append(client) }
      if !wasWaiting, client.interest.contains(.writable) { waitFor(client) }
    }
    for client in gone { drop(client) }
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

  /// With no descriptor left, the listening socket would stay readable and this loop would spin.
  private func refuseOne() -> Bool {
    spare = nil
    let descriptor = accept4(socket.descriptor.rawValue, nil, nil, CInt(SOCK_CLOEXEC.rawValue))
    if descriptor >= 0 { refuse(FileDescriptor(owning: descriptor), "the service has no descriptor left") }
    openSpare()
    return descriptor >= 0
  }

  private func refuse(_ descriptor: consuming FileDescriptor, _ message: String) {
    var text = ServiceAnswer.error(message)
    let number = descriptor.rawValue
    text.withUTF8 { text in _ = unsafe send(number, text.baseAddress, text.count, CInt(MSG_NOSIGNAL)) }
  }

  private func welcome(_ descriptor: consuming FileDescriptor) {
    guard let peer = ServiceConnection.peer(of: descriptor.rawValue) else { return }
    let isOwner = peer.user == geteuid()
    guard isOwner || socket.access == .everyone else {
      return refuse(descriptor, "this socket belongs to another user")
    }
    guard clients.count < connectionLimit else {
      return refuse(descriptor, "the service has \(connectionLimit) connections already")
    }
    var size = Self.sendBuffer
    unsafe setsockopt(descriptor.rawValue, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
    let client = ClientConnection(descriptor, mayBegin: isOwner || peer.user == 0)
    clients[ObjectIdentifier(client)] = client
    // The kernel's news that was there before it came is read first: a service that was asleep would tell of yesterday.
    if arrivals.isEmpty {
      loop.schedule(at: KernelClock.monotonic.now) { [weak self] in
        self?.handlers.prepareGreeting { self?.greetArrivals() }
      }
    }
    arrivals.append(client)
  }

  private func greetArrivals() {
    let greeted = arrivals
    arrivals = []
    if let newest { greeter.write(newest.asInitial) }
    for client in greeted {
      client.registration = try? loop.watch(client.descriptor.rawValue, for: .readable) {
        [unowned self, unowned client] readiness in serve(client, readiness)
      }
      guard client.registration != nil else {
        drop(client)
        continue
      }
      if newest != nil { settle(client, greeter.withLine { client.offer($0) }) }
    }
  }

  // MARK: Clients speak

  private func serve(_ client: ClientConnection, _ readiness: EventLoop.Readiness) {
    if readiness.contains(.writable) {
      let isOwed = newest != nil && client.wantsEvents
      let outcome = isOwed ? writer.withLine { client.flush(newest: $0) } : client.flush(newest: nil)
      if case .isGone = outcome { return drop(client) }
      // Lines that have waited for room.
      if case .isGone = unsafe obey(UnsafeRawBufferPointer(start: nil, count: 0), of: client) { return drop(client) }
    }
    if readiness.contains(.readable), client.interest.contains(.readable) {
      switch unsafe client.read(into: readBuffer) {
      case .bytes(let count):
        return settle(client, unsafe obey(UnsafeRawBufferPointer(rebasing: readBuffer[..<count]), of: client))
      case .nothing: break
      case .over:
        // It may still listen.
        if readiness.hasHungUp { return drop(client) }
      case .isGone: return drop(client)
      }
    } else if readiness.hasHungUp {
      return drop(client)
    }
    settle(client, .goesOn)
  }

  private func obey(_ bytes: UnsafeRawBufferPointer, of client: ClientConnection) -> ClientConnection.Outcome {
    var outcome = ClientConnection.Outcome.goesOn
    let isShort = unsafe client.takeLines(bytes) { line in
      outcome = obey(line, of: client)
      if case .isGone = outcome { return false }
      return true
    }
    return isShort ? outcome : client.end(because: "a line has at most \(ClientConnection.lineLimit) bytes")
  }

  private func obey(_ line: ArraySlice<UInt8>, of client: ClientConnection) -> ClientConnection.Outcome {
    do throws(ProtocolError) {
      return try obey(try ClientMessage(line), of: client)
    } catch {
      switch error {
      case .notUnderstood(let message): return client.answer(ServiceAnswer.error(message))
      case .limit(let message): return client.end(because: message)
      }
    }
  }

  private func obey(_ message: ClientMessage, of client: ClientConnection) throws(ProtocolError)
    -> ClientConnection.Outcome
  {
    switch message {
    case .begin(let id, _):
      guard client.mayBegin else { throw .notUnderstood("only root may begin requests here") }
      guard client.requests.count < Self.requestLimit || client.requests.isRunning(id) else {
        throw .limit("at most \(Self.requestLimit) requests may run on one connection")
      }
      changeRequests(of: client) { $0.began(id) }
    case .end(let id): changeRequests(of: client) { $0.ended(id) }
    case .events(let isOn):
      client.wantsEvents = isOn
      if isOn { handlers.prepareGreeting {} } else { noteLoss() }
    case .ping: return client.answer(ServiceAnswer.pong)
    case .stats:
      var statistics = handlers.statistics()
      statistics.subscribers = subscriberCount
      return client.answer(ServiceAnswer.stats(statistics))
    }
    return .goesOn
  }

  private func changeRequests(of client: ClientConnection, _ body: (inout RequestSet) -> Void) {
    let before = client.requests.count
    body(&client.requests)
    guard client.requests.count != before else { return }
    requestCount += client.requests.count - before
    handlers.requestsChanged(requestCount)
  }

  private func endRequests(of client: ClientConnection) { changeRequests(of: client) { $0 = RequestSet() } }

  // MARK: Clients go

  private func settle(_ client: ClientConnection, _ outcome: ClientConnection.Outcome) {
    if case .isGone = outcome { return drop(client) }
    waitFor(client)
  }

  private func waitFor(_ client: ClientConnection) {
    guard let registration = client.registration else { return }
    try? loop.change(registration, to: client.interest)
  }

  private func drop(_ client: ClientConnection) {
    guard clients.removeValue(forKey: ObjectIdentifier(client)) != nil else { return }
    if let registration = client.registration { loop.remove(registration) }
    endRequests(of: client)
    if client.wantsEvents { noteLoss() }
  }

  private func noteLoss() {
    if !clients.values.contains(where: \.wantsEvents) { handlers.lastSubscriberLeft() }
  }
}
