import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Sends the stream to every client of a socket, and counts the requests that clients begin.
///
/// Within a turn of the loop, changes of the state are sent first. Then, at the end of the turn, clients get their first lines and
/// their orders are carried out, as far as the `OrderSchedule` allows. What depends on all clients comes last, once for all orders.
///
/// The server belongs to the thread of its loop. It does not wait for slow clients; see `ClientConnection`.
@safe package final class EventServer {
  /// The default of the most open connections: 1,024.
  package static let standardConnectionLimit = 1_024
  /// The most connections that are accepted before the loop handles other events.
  private static let acceptsPerTurn = 64
  /// The time without a client that wants events after which the provider rests. Clients that come and go do not
  /// make the service begin anew each time.
  private static let restDelay = Duration.seconds(1)
  /// The size of the kernel's send buffer for each client, in bytes; the kernel uses twice as much.
  private static let sendBuffer: CInt = 16 << 10

  let loop: EventLoop
  private let socket: ListeningSocket
  private let connectionLimit: Int
  private let identity: ServiceIdentity
  unowned let provider: any Provider
  private var registration: EventLoop.Registration?
  private(set) var clients: [ObjectIdentifier: ClientConnection] = [:]
  private var schedule = OrderSchedule<ObjectIdentifier>()
  /// The timer of the next order, if all clients that wait have used up their budgets.
  private var orderTimer: LoopTimer?
  /// The clients whose readiness to wait for may have changed in this turn of the loop.
  private var touched: [ClientConnection] = []
  private var isTurnEndAwaited = false
  private var isEndingTurn = false
  /// The clients that await an answer at the end of this turn.
  private var askers: [ClientConnection] = []
  /// The clients whose first line is being prepared.
  private var arrivals: [ClientConnection] = []
  private var isPreparingGreeting = false
  /// Whether first lines have been prepared since the provider has rested.
  private var isWatched = false
  /// The timer of ``restDelay``; nil until a client comes.
  private var restTimer: LoopTimer?
  private var strangers: PeerConnectionLimits
  private var memory: ClientMemory
  private var isShortOfMemory = false
  private var requestCount = 0
  var writer = JSONLineWriter()
  /// The writer of lines that not every client gets.
  private var figureWriter = JSONLineWriter()
  private var wishes = Wishes()
  /// Whether a client has changed what it asks for since ``wishes`` was computed.
  private var areWishesStale = false
  /// What was asked of the WiFi network last.
  private var reportedWiFi = WiFiReporting()
  /// The limit of questions to the driver: the service waits for each answer.
  private var wifiLimit = RateLimiter(perSecond: 8)
  /// The timer of the next question about the WiFi network; nil until clients ask too often.
  private var wifiTimer: LoopTimer?
  /// The clients that get the current values with the next question.
  private var wifiAskers: Set<ObjectIdentifier> = []
  /// The clients that get the quality of the last sample at the end of this turn.
  private var qualityAskers: Set<ObjectIdentifier> = []
  private var greeter = JSONLineWriter()
  private var isGreeterStale = true
  var newest: EventRecord? { didSet { newestLines = [:] } }
  /// The lines of the newest record for clients that ask for values of the WiFi network.
  private var newestLines: [WiFiReporting: [UInt8]] = [:]
  /// A descriptor that is closed for a moment if no other is left, so that a client can be refused with a message.
  private var spare: FileDescriptor?
  /// The timer that ends a pause in which no clients are accepted; nil until there was one.
  private var acceptTimer: LoopTimer?
  private var acceptBackoff = Backoff()

  /// What a server tells its clients about, and what they ask for.
  package protocol Provider: AnyObject {
    /// The counters of the service as a whole. The server adds those of its clients.
    var statistics: ServiceStatistics { get }
    /// Notes that clients have changed the number of running requests, also by their end.
    func requestsChanged(to count: Int)
    /// Brings the state up to date, because clients have connected. They get it when this calls `greet`.
    func prepareGreeting(_ greet: @escaping () -> Void)
    /// Rests, because no client has wanted events for one second.
    func lastSubscriberLeft()
    /// Samples the traffic of the links that carry the path at these intervals from now on, for ``publish(_:every:)``.
    func sampleTraffic(every intervals: Set<Duration>)
    /// Samples the quality of the link that carries the path from now on, for ``publish(_:)-(LinkQuality)``, or not any more.
    ///
    /// - Returns: The figures of the last sample; nil if they are not known.
    func sampleQuality(_ isWanted: Bool) -> LinkQuality?
    /// Reports these values of the WiFi network from now on.
    ///
    /// - Returns: The current values; nil if they are not known.
    func report(_ wifi: WiFiReporting) -> WiFiConnection?
  }

  /// Creates a server that accepts clients at once.
  ///
  /// - Parameters:
  ///   - socket: The socket that clients connect to.
  ///   - provider: What the server tells about. It has to live as long as the server.
  ///   - loop: The loop that the server belongs to.
  ///   - connectionLimit: The most clients that may be connected. Default: 1,024.
  ///   - memoryLimit: The most bytes that clients may make the server keep. Default: 64 MiB.
  ///   - identity: The identity of the service, for the first line of each connection.
  /// - Throws: A `SystemError` if the loop cannot watch the socket.
  package init(
    _ socket: ListeningSocket, of provider: any Provider, on loop: EventLoop,
    connectionLimit: Int = EventServer.standardConnectionLimit, memoryLimit: Int = 64 << 20,
    identity: ServiceIdentity = ServiceIdentity()
  ) throws(SystemError) {
    self.provider = provider
    self.loop = loop
    self.socket = socket
    self.connectionLimit = connectionLimit
    strangers = PeerConnectionLimits(connectionLimit: connectionLimit)
    memory = ClientMemory(limit: memoryLimit)
    self.identity = identity
    openSpare()
    registration = try loop.watch(socket.descriptor.rawValue, for: .readable) { [unowned self] _ in acceptClients() }
  }

  deinit {
    if let registration { loop.remove(registration) }
    for client in clients.values { if let registration = client.registration { loop.remove(registration) } }
  }

  /// The number of clients that want events.
  package private(set) var subscriberCount = 0

  /// Sends `record` to every client that wants events. From now on it is the first record of new clients.
  package func publish(_ record: EventRecord) {
    isGreeterStale = true
    if record.event == .wifi { return tellWiFi(record) }
    newest = record
    writer.write(record.withoutWiFiDetails)
    // Root and the service's own user come first: there may be hundreds of others.
    for isTrusted in [true, false] {
      for client in clients.values where client.mayBegin == isTrusted { publishNewest(to: client) }
    }
    adaptToMemory()
  }

  private func publishNewest(to client: ClientConnection) {
    guard client.wantsEvents, !client.isArriving, client.registration != nil, let newest else { return }
    client.wifi.note(newest)
    finish(client, isThere: withNewestLine(for: client) { client.offer($0) })
  }

  /// Calls `body` with the newest line. A client's first line also has the identity of the service.
  private func withNewestLine(for client: ClientConnection, _ body: (RawSpan) -> Bool) -> Bool {
    if client.isGreeted {
      let reporting = client.wifi.reporting
      guard reporting.isWanted, let newest else { return writer.withLine(body) }
      let line = newestLines[reporting] ?? line(newest.withWiFi(reporting))
      newestLines[reporting] = line
      return unsafe body(line.span.bytes)
    }
    if isGreeterStale, let newest {
      greeter.write(newest.withoutWiFiDetails.asInitial, service: identity)
      isGreeterStale = false
    }
    return greeter.withLine(body)
  }

  // MARK: The end of a turn

  private func awaitTurnEnd() {
    guard !isTurnEndAwaited else { return }
    isTurnEndAwaited = true
    loop.atTurnEnd { [weak self] in self?.endTurn() }
  }

  private func endTurn() {
    isTurnEndAwaited = false
    isEndingTurn = true
    schedule.beginTurn()
    while let id = schedule.next(at: loop.now) {
      guard let client = clients[id] else { continue }
      finish(client, isThere: carryOutOrders(of: client))
    }
    prepareArrivals()
    if areWishesStale {
      areWishesStale = false
      fulfilWishes()
    }
    resumeAskers()
    setRestTimer()
    isEndingTurn = false
    let clients = touched
    touched = []
    for client in clients { waitFor(client) }
    setOrderTimer()
  }

  private func resumeAskers() {
    let resumed = askers
    askers = []
    for client in resumed {
      client.awaitsAnswer = false
      if clients[ObjectIdentifier(client)] === client { finish(client, isThere: continueTurn(client)) }
    }
  }

  private func setOrderTimer() {
    guard let next = schedule.nextTime else {
      orderTimer?.stop()
      return
    }
    if next <= loop.now { return awaitTurnEnd() }
    let timer = orderTimer ?? LoopTimer(on: loop) { [unowned self] in awaitTurnEnd() }
    orderTimer = timer
    timer.set(at: next)
  }

  private func setRestTimer() {
    guard isWatched, subscriberCount == 0 else {
      restTimer?.stop()
      return
    }
    let timer =
      restTimer
      ?? LoopTimer(on: loop) { [unowned self] in
        isWatched = false
        provider.lastSubscriberLeft()
      }
    restTimer = timer
    if timer.deadline == nil { timer.set(after: Self.restDelay) }
  }

  /// Gives a client its turn at the end of this turn of the loop, or later if its user has used up the budget.
  private func enqueue(_ client: ClientConnection, isFirst: Bool = false) {
    schedule.add(
      ObjectIdentifier(client), of: client.user, isStranger: !client.mayBegin, isFirst: isFirst,
      at: loop.now)
    touched.append(client)
    awaitTurnEnd()
  }

  private func noteWishes() {
    areWishesStale = true
    awaitTurnEnd()
  }

  // MARK: Clients come

  /// The spare is one more descriptor of the socket, because any file may be missing.
  private func openSpare() {
    let descriptor = fcntl(socket.descriptor.rawValue, F_DUPFD_CLOEXEC, 0)
    spare = descriptor >= 0 ? FileDescriptor(owning: descriptor) : nil
  }

  private func acceptClients() {
    if spare == nil { openSpare() }
    for _ in 0..<Self.acceptsPerTurn {
      let descriptor = accept4(
        socket.descriptor.rawValue, nil, nil, CInt(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
      if descriptor >= 0 {
        acceptBackoff = Backoff()
        accept(FileDescriptor(owning: descriptor))
        continue
      }
      var code = errno
      // With no descriptor left, the kernel does not even say whether a client waits.
      if code == EMFILE || code == ENFILE { code = refuseOne() }
      switch code {
      case 0, EINTR, ECONNABORTED: continue
      case EAGAIN: return
      default: return pauseAccepting()
      }
    }
  }

  /// Refuses one client with the spare descriptor.
  ///
  /// - Returns: The error if that failed: EAGAIN if no client waits. Otherwise 0.
  private func refuseOne() -> CInt {
    spare = nil
    let descriptor = accept4(socket.descriptor.rawValue, nil, nil, CInt(SOCK_CLOEXEC.rawValue))
    let code = descriptor >= 0 ? 0 : errno
    if descriptor >= 0 { refuse(FileDescriptor(owning: descriptor), "the service has no descriptor left") }
    openSpare()
    return code
  }

  /// Accepts no clients until one has left, or for a while. The socket stays readable as long as a client waits, so the loop
  /// would never sleep.
  private func pauseAccepting() {
    if let registration { try? loop.change(registration, to: []) }
    let timer = acceptTimer ?? LoopTimer(on: loop) { [unowned self] in resumeAccepting() }
    acceptTimer = timer
    timer.set(after: acceptBackoff.nextPause())
  }

  private func resumeAccepting() {
    acceptTimer?.stop()
    if let registration { try? loop.change(registration, to: .readable) }
  }

  private func refuse(_ descriptor: consuming FileDescriptor, _ message: String) {
    var text = ProtocolError.line(message)
    let number = descriptor.rawValue
    text.withUTF8 { text in _ = unsafe send(number, text.baseAddress, text.count, CInt(MSG_NOSIGNAL)) }
  }

  private func accept(_ descriptor: consuming FileDescriptor) {
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
    // Until it has its first line, only its end is of interest.
    client.registration = try? loop.watch(client.descriptor.rawValue, for: []) {
      [unowned self, unowned client] readiness in
      finish(client, isThere: exchange(with: client, readiness))
    }
    guard client.registration != nil else {
      if !mayBegin { strangers.remove(peer.user) }
      client.end(because: "the service has no memory left")
      return
    }
    clients[ObjectIdentifier(client)] = client
    subscriberCount += 1
    enqueue(client, isFirst: true)
  }

  /// The clients that connected in this turn get their first lines when these are up to date.
  private func prepareArrivals() {
    guard !arrivals.isEmpty, !isPreparingGreeting else { return }
    isPreparingGreeting = true
    isWatched = true
    provider.prepareGreeting { [weak self] in self?.greetArrivals() }
  }

  private func greetArrivals() {
    isPreparingGreeting = false
    let greeted = arrivals
    arrivals = []
    for client in greeted where clients[ObjectIdentifier(client)] === client {
      client.isArriving = false
      touched.append(client)
      awaitTurnEnd()
      if client.hasLine || client.registration == nil { enqueue(client) }
      guard newest != nil, client.wantsEvents, client.registration != nil else { continue }
      finish(client, isThere: withNewestLine(for: client) { client.offer($0) })
    }
  }

  // MARK: Clients speak

  /// Writes to a client, and gives it its turn if it has sent something.
  ///
  /// - Returns: False if the client is gone or has to go. This also holds for the methods below.
  private func exchange(with client: ClientConnection, _ readiness: EventLoop.Readiness) -> Bool {
    if readiness.contains(.writable) {
      let isOwed = newest != nil && client.wantsEvents && !client.isArriving
      let isThere = isOwed ? withNewestLine(for: client) { client.flush(newest: $0) } : client.flush(newest: nil)
      guard isThere else { return false }
      touched.append(client)
      awaitTurnEnd()
    }
    if readiness.hasHungUp {
      // The requests of a client end with it, but those that it has begun before have been there. Others can only look.
      guard client.mayBegin, !client.isFull else { return false }
      if let registration = client.registration { loop.remove(registration) }
      client.registration = nil
    }
    guard !client.isArriving else { return true }
    if client.hasLine || client.registration == nil || readiness.contains(.readable) { enqueue(client) }
    return true
  }

  /// Reads from a client and carries out what it orders, for one turn of the client.
  private func carryOutOrders(of client: ClientConnection) -> Bool {
    var cost = 0
    defer { schedule.charge(cost, to: client.user, at: loop.now) }
    if client.isArriving {
      cost = OrderCost.connection
      arrivals.append(client)
      return true
    }
    if !client.hasLine {
      cost = OrderCost.read
      guard client.read() else { return false }
    }
    var isThere = true
    let fits = client.splitLines { line in
      cost += OrderCost.line(of: line.count)
      isThere = handle(line, of: client, &cost)
      return isThere && !client.isArriving && !client.awaitsAnswer && cost < OrderCost.turn
    }
    guard fits else { return client.end(because: "a line has at most \(ClientMessage.lineLimit) bytes") }
    guard isThere else { return false }
    // A client that has asked for the state anew, or for values, goes on when it has got them.
    return client.isArriving || client.awaitsAnswer || continueTurn(client)
  }

  /// Gives a client another turn if it has more orders.
  private func continueTurn(_ client: ClientConnection) -> Bool {
    let isGone = client.registration == nil
    guard client.hasLine || isGone && !client.isInputOver else { return !isGone }
    // Otherwise, lines wait until the client has read some responses.
    if !client.isFull { enqueue(client) }
    return !isGone || !client.isFull
  }

  private func handle(_ line: ArraySlice<UInt8>, of client: ClientConnection, _ cost: inout Int) -> Bool {
    do throws(ProtocolError) {
      let message = try ClientMessage(line)
      if case .stats = message { cost += OrderCost.statistics(of: clients.count, client.mayBegin ? requestCount : 0) }
      return try handle(message, of: client)
    } catch {
      switch error {
      case .notUnderstood: return client.answer(error.line)
      case .limit(let message): return client.end(because: message)
      }
    }
  }

  private func handle(_ message: ClientMessage, of client: ClientConnection) throws(ProtocolError) -> Bool {
    switch message {
    case .begin(let id, let label): try begin(id, label, for: client)
    case .end(let id):
      guard client.mayBegin else { throw .notUnderstood("only root and the service's own user may end requests here") }
      guard client.requests.end(id) else { throw .notUnderstood("no request with this id runs on this connection") }
      changeRequestCount(by: -1)
    case .running(let requests): try announce(requests, for: client)
    case .events(let isOn):
      if isOn != client.wantsEvents { subscriberCount += isOn ? 1 : -1 }
      client.wantsEvents = isOn
      if isOn { tellAnew(client) }
      if client.hasWishes { noteWishes() }
    case .traffic(let interval):
      client.trafficInterval = interval
      noteWishes()
    case .signal(let changes):
      client.wifi.reporting.signal = changes
      askForWiFi(for: client)
    case .wifiDetails(let isOn):
      client.wifi.reporting.includesDetails = isOn
      askForWiFi(for: client)
    case .accessPoint(let isOn):
      client.wifi.reporting.includesAccessPoint = isOn
      askForWiFi(for: client)
    case .quality(let isOn):
      client.quality = isOn ? QualityNews() : nil
      qualityAskers.insert(ObjectIdentifier(client))
      awaitAnswer(for: client)
    case .ping: return client.answer(ClientMessage.pong)
    case .stats: return client.answer(statistics(for: client).line)
    }
    return true
  }

  private func begin(_ id: String, _ label: String?, for client: ClientConnection) throws(ProtocolError) {
    try checkRight(of: client)
    guard !client.requests.isRunning(id) else { return }
    try check(1, of: client.requests.growth(by: id, label: label), for: client)
    client.requests.begin(id, label: label)
    changeRequestCount(by: 1)
  }

  private func announce(_ requests: RunningRequests, for client: ClientConnection) throws(ProtocolError) {
    try checkRight(of: client)
    let more = requests.count - client.requests.announced.count
    let growth = client.requests.growth(by: requests)
    // Fewer requests are always accepted.
    if more > 0 || growth > 0 { try check(more, of: growth, for: client) }
    client.requests.announce(requests)
    if more != 0 { changeRequestCount(by: more) }
  }

  /// Checks whether a client may begin requests.
  private func checkRight(of client: ClientConnection) throws(ProtocolError) {
    guard client.mayBegin else { throw .notUnderstood("only root and the service's own user may begin requests here") }
  }

  /// Checks whether more requests of this size may run.
  private func check(_ more: Int, of size: Int, for client: ClientConnection) throws(ProtocolError) {
    guard client.requests.count + more <= ClientMessage.requestLimit else {
      throw .limit("at most \(ClientMessage.requestLimit) requests may run on one connection")
    }
    guard memory.allowsRequest(of: size) else {
      throw .notUnderstood("the memory for requests is used up; end some first")
    }
  }

  /// Sends the state to a client at once, as after it has connected.
  private func tellAnew(_ client: ClientConnection) {
    client.isGreeted = false
    client.isArriving = true
    enqueue(client, isFirst: true)
  }

  private func askForWiFi(for client: ClientConnection) {
    wifiAskers.insert(ObjectIdentifier(client))
    awaitAnswer(for: client)
  }

  private func awaitAnswer(for client: ClientConnection) {
    client.awaitsAnswer = true
    askers.append(client)
    noteWishes()
  }

  /// Returns the counters and labels that the user of a client may know.
  private func statistics(for client: ClientConnection) -> ServiceStatistics {
    var statistics = provider.statistics
    statistics.subscribers = subscriberCount
    statistics.requests = requestCount
    guard client.mayBegin else { return statistics }
    var counts: [String: Int] = [:]
    for other in clients.values where client.user == 0 || other.user == client.user {
      other.requests.forEachLabel { counts[$0, default: 0] += $1 }
    }
    statistics.labels = ServiceStatistics.mostFrequent(counts)
    return statistics
  }

  private func changeRequestCount(by change: Int) {
    requestCount += change
    provider.requestsChanged(to: requestCount)
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
      if isEndingTurn { touched.append(client) } else { waitFor(client) }
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
    var interest = client.interest
    if client.isArriving || schedule.isWaiting(ObjectIdentifier(client)) { interest.remove(.readable) }
    guard interest != client.watched else { return }
    client.watched = interest
    try? loop.change(registration, to: interest)
  }

  private func drop(_ client: ClientConnection) {
    guard clients.removeValue(forKey: ObjectIdentifier(client)) != nil else { return }
    if let registration = client.registration { loop.remove(registration) }
    client.registration = nil
    schedule.remove(ObjectIdentifier(client), of: client.user)
    if !client.mayBegin { strangers.remove(client.user) }
    memory.change(from: client.notedSize, to: 0)
    if client.requests.count > 0 {
      let count = client.requests.count
      client.requests = ClientRequests()
      changeRequestCount(by: -count)
    }
    if client.wantsEvents { subscriberCount -= 1 }
    if client.hasWishes { noteWishes() }
    awaitTurnEnd()
    if acceptTimer?.deadline != nil { resumeAccepting() }
  }
}

/// Lines that only those clients get that have asked for them. They have the number of the last state.
extension EventServer {
  /// What all clients together ask for. It is computed at the end of a turn of the loop if a client has changed what it asks for,
  /// and not for each message.
  struct Wishes {
    /// The clients that get traffic, by interval.
    var traffic: [Duration: [ClientConnection]] = [:]
    /// The clients that get the quality of the link.
    var quality: [ClientConnection] = []
    var wifi = WiFiReporting()

    init() {}

    init(of clients: some Sequence<ClientConnection>) {
      for client in clients where client.wantsEvents {
        if let interval = client.trafficInterval { traffic[interval, default: []].append(client) }
        if client.quality != nil { quality.append(client) }
        wifi = wifi.union(client.wifi.reporting)
      }
    }
  }

  /// Does what clients have newly asked for, once for all messages of this turn of the loop.
  private func fulfilWishes() {
    wishes = Wishes(of: clients.values)
    provider.sampleTraffic(every: Set(wishes.traffic.keys))
    answerQuality(provider.sampleQuality(!wishes.quality.isEmpty))
    askForWiFi()
  }

  // MARK: What links carry

  /// Sends the traffic of the links that carry the path to the clients with this interval.
  package func publish(_ traffic: [LinkTraffic], every interval: Duration) {
    guard var record = newest?.withoutWiFiDetails, let readers = wishes.traffic[interval] else { return }
    record.event = .traffic
    record.traffic = traffic
    record.setDateToNow()
    figureWriter.write(record)
    for client in readers { finish(client, isThere: figureWriter.withLine { client.offer(passing: $0) }) }
  }

  // MARK: How well the link works

  /// Sends the quality of the link to the clients that have asked for it.
  package func publish(_ quality: LinkQuality) { offer(quality, to: wishes.quality) }

  /// Sends the figures of the last sample to the clients that have newly asked for them.
  private func answerQuality(_ quality: LinkQuality?) {
    let askers = qualityAskers.compactMap { clients[$0] }
    qualityAskers = []
    if let quality { offer(quality, to: askers) }
  }

  /// Sends figures to clients that have asked for them, if they are news to them.
  private func offer(_ quality: LinkQuality, to readers: [ClientConnection]) {
    guard !readers.isEmpty, quality.isOf(newest?.path.carrier), var record = newest?.withoutWiFiDetails else { return }
    record.event = .quality
    record.quality = quality
    record.tellsQuality = true
    record.setDateToNow()
    figureWriter.write(record)
    let now = loop.now
    // A client that has no room now gets figures after a later sample.
    for client in readers where client.wantsEvents && client.isGreeted && !client.interest.contains(.writable) {
      guard client.quality?.take(quality, at: now) == true else { continue }
      finish(client, isThere: figureWriter.withLine { client.offer(passing: $0) })
    }
  }

  // MARK: WiFi

  /// Passes on what clients ask of the WiFi network, and answers those that have newly asked. A driver may be asked for that, and
  /// the service waits for it. So if clients ask too often, both happens later.
  private func askForWiFi() {
    let askers = wifiAskers.compactMap { clients[$0] }.filter { $0.wantsEvents && $0.wifi.reporting.isWanted }
    guard wishes.wifi != reportedWiFi || !askers.isEmpty else {
      wifiAskers = []
      return
    }
    let now = loop.now
    guard wifiLimit.allows(at: now) else {
      let timer = wifiTimer ?? LoopTimer(on: loop) { [unowned self] in askForWiFi() }
      wifiTimer = timer
      return timer.set(at: wifiLimit.next)
    }
    wifiLimit.take(at: now)
    reportedWiFi = wishes.wifi
    wifiAskers = []
    guard let connection = provider.report(wishes.wifi), !askers.isEmpty, var record = newest, record.path.wifi != nil
    else {
      return
    }
    record.path = record.path.with(connection, reason: .initial)
    record.event = .wifi
    record.setDateToNow()
    offer(record, to: askers)
  }

  private func tellWiFi(_ record: EventRecord) {
    guard var state = newest else { return }
    // A client that connects now, or that has missed a state, gets that state with the current values.
    state.path = state.path.with(record.path.connection, reason: state.path.reason)
    newest = state
    writer.write(state.withoutWiFiDetails)
    offer(record, to: clients.values.filter { $0.wantsEvents && $0.wifi.isNews(record) })
  }

  /// Sends a record about the WiFi network to clients, to each what it has asked for.
  private func offer(_ record: EventRecord, to readers: [ClientConnection]) {
    var lines: [WiFiReporting: [UInt8]] = [:]
    for client in readers {
      let reporting = client.wifi.reporting
      client.wifi.note(record)
      let line = lines[reporting] ?? line(record.withWiFi(reporting))
      lines[reporting] = line
      finish(client, isThere: unsafe client.offer(passing: line.span.bytes))
    }
  }

  /// Returns a record as a line.
  func line(_ record: EventRecord) -> [UInt8] {
    figureWriter.write(record)
    return figureWriter.line
  }
}

extension EventRecord {
  /// Returns the record with only those values of the WiFi network that were asked for.
  fileprivate func withWiFi(_ reporting: WiFiReporting) -> EventRecord {
    var record = self
    record.path = path.with(reporting.part(of: path.connection), reason: path.reason)
    return record
  }

  /// The record for a client that has not asked for values of the WiFi network.
  fileprivate var withoutWiFiDetails: EventRecord { path.wifi == nil ? self : withWiFi(WiFiReporting()) }
}
