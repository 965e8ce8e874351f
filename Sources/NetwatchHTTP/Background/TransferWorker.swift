import CLinux
import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The program that does the transfers of all background sessions of a user. It follows the spools by inotify, and ends when nothing is
/// left to do. It may be killed at any time. Belongs to the thread of its loop.
package final class TransferWorker {
  /// What runs for a transfer.
  private struct Run {
    var record: TransferRecord
    /// Breaks the transfer off, and keeps what it has.
    var stop: () -> Void = {}
    /// The file with the progress; nil until the transfer runs.
    var progress: ProgressFile?
    /// Whether it was told to stop.
    var isStopping = false
    /// Whether its request must not be sent twice, and may be on its way.
    var isSending = false
    /// Whether the server has answered with a redirect, so that it has seen the request.
    let wasRedirected = Lock(false)
  }

  private typealias Key = TransferQueue.Key

  /// What the transfers of an HTTP session have in common.
  private struct SessionKey: Hashable {
    var kind: TransferRecord.Kind
    var pinning: TransferRecord.Pinning?
    var userAgent: String?
    var acceptsCompressedResponses: Bool
  }

  /// The time between two looks at the power supply, which reports nothing by itself to a user.
  private static let powerInterval = Duration.seconds(30)
  /// The time after which a change that the disk did not take is tried again.
  private static let retryInterval = Duration.seconds(5)
  /// The most inputs of the queue in one turn of the loop.
  private static let mostInputs = 64
  /// The most attempts without any progress at a server that refuses, for a reason that may pass.
  private static let mostRefusals = 20

  private let loop: EventLoop
  private let path: any PathSource
  private let observer: (any RequestObserver)?
  private let root: String
  private let lock: LockFile
  private var queue = TransferQueue()
  private var surroundings = TransferQueue.Surroundings()
  /// The spools as they were read last, by the identifiers of their sessions.
  private var snapshots: [String: TransferSpool.Snapshot] = [:]
  private var runs: [Key: Run] = [:]
  /// The number of failures since the last one with more bytes, and the bytes.
  private var failures: [Key: (count: Int, received: Int64)] = [:]
  private var sessions: [SessionKey: HTTPSessionManager] = [:]
  private var watch: SpoolWatch?
  private var observation: (any AnyObject & Sendable)?
  private var clock: WallClockWatch?
  private var wakeTimer: LoopTimer?
  private var powerTimer: LoopTimer?
  private var pathChanges = 0
  private var inputs: [TransferQueue.Input] = []
  private var isHandling = false
  private var isDone = false

  /// Prepares the worker.
  ///
  /// - Parameters:
  ///   - loop: The loop that the worker runs on.
  ///   - path: The path to the network, which the transfers follow.
  ///   - observer: The observer of all requests. Default: nil.
  /// - Throws: An ``HTTPError`` if the folder of the transfers cannot be used.
  package init(on loop: EventLoop, path: any PathSource, observer: (any RequestObserver)? = nil) throws(HTTPError) {
    self.loop = loop
    self.path = path
    self.observer = observer
    root = try TransferSpool.root()
    do throws(TrustedPath.Fault) {
      _ = try TrustedPath(root, creatingFolders: 0o700, acceptsOwnGroups: true)
    } catch {
      throw HTTPError(.fileFailed, "open the transfers", message: "\(error)", underlying: error)
    }
    lock = try LockFile("\(root)/worker.lock")
  }

  /// Does the transfers until nothing is left to do, or the loop is stopped. Returns at once if another worker runs.
  ///
  /// - Throws: A `SystemError` if the system has no descriptor left.
  package func run() throws {
    // Whoever stores a transfer looks at the lock afterwards. So after the lock was given back, the spools are read once more.
    while lock.take() {
      lock.sign()
      try begin()
      watch?.look()
      if !isDone { try loop.run() }
      let wasDone = isDone
      end()
      if wasDone, !hasWork { unsafe unlink(Self.wantedPath(root)) }
      lock.giveBack()
      guard wasDone, hasWork else { return }
      try Self.markWanted(root)
    }
  }

  private var hasWork: Bool {
    (try? TransferSpool.all())?.spools.contains { $0.content().records.contains(where: \.wantsWorker) } ?? true
  }

  private func begin() throws {
    (isDone, snapshots) = (false, [:])
    (inputs, isHandling) = ([], false)
    let own = LoopBound(self, on: loop)
    observation = path.onPathChange { [handle = loop.handle] in handle.submit { own.value(on: $0)?.pathChanged() } }
    clock = try WallClockWatch(on: loop) { [unowned self] in handle(.tick) }
    wakeTimer = LoopTimer(on: loop) { [unowned self] in handle(.tick) }
    watch = SpoolWatch(of: [root], hearsProgress: false, on: loop) { [unowned self] in scan() }
    powerTimer = LoopTimer(on: loop) { [unowned self] in
      look()
      setPowerTimer()
    }
    surroundings = newSurroundings
    queue = TransferQueue(in: surroundings)
    storeSurroundings()
    for spool in (try? TransferSpool.all())?.spools ?? [] { try? spool.removeOrphans() }
  }

  private func end() {
    for key in runs.keys {
      runs[key]?.stop()
      runs[key]?.progress?.remove()
    }
    runs = [:]
    (observation, clock, watch) = (nil, nil, nil)
    (wakeTimer, powerTimer) = (nil, nil)
    unsafe unlink(statePath)
  }

  // MARK: What is around

  private func pathChanged() {
    pathChanges += 1
    look()
  }

  private func look() {
    let new = newSurroundings
    guard new != surroundings else { return }
    surroundings = new
    storeSurroundings()
    handle(.changed(new))
  }

  private var newSurroundings: TransferQueue.Surroundings {
    var new = TransferQueue.Surroundings()
    new.hasPath = path.hasPath
    new.isMetered = path.isExpensive ?? true
    new.medium = path.medium?.rawValue
    new.isOnPower = PowerSupply.isOnPower()
    new.path = "\(pathChanges)"
    return new
  }

  /// Writes what is around for those who list the transfers. It is of no use after the process, so it is not flushed.
  private func storeSurroundings() {
    if let text = try? JSONEncoder().encode(surroundings) {
      try? text.write(to: URL(filePath: statePath), options: .atomic)
    }
  }

  private func setPowerTimer() {
    guard queue.waitsForPower else { return powerTimer?.stop() ?? () }
    if powerTimer?.deadline == nil { powerTimer?.set(after: Self.powerInterval) }
  }

  private var statePath: String { "\(root)/state.json" }

  /// What the running worker sees around the machine; nil if none runs.
  package static var surroundings: TransferQueue.Surroundings? {
    guard let root = try? TransferSpool.root(), isRunning(root),
      let data = FileDescriptor.bytes(of: "\(root)/state.json", capacity: 4_096)
    else { return nil }
    return try? JSONDecoder().decode(TransferQueue.Surroundings.self, from: Data(data))
  }

  // MARK: The spools

  /// Reads what has changed in the spools. What cannot be read now stays as it was.
  ///
  /// - Returns: Whether everything could be read.
  private func scan() -> Bool {
    var isWhole = true
    if let all = try? TransferSpool.all() {
      isWhole = all.refused.isEmpty
      let identifiers = Set(all.spools.map(\.identifier))
      snapshots = snapshots.filter { identifiers.contains($0.key) || all.refused[$0.key] != nil }
      watch?.folders = [root] + all.spools.map(\.folder)
      for spool in all.spools {
        if !snapshots[spool.identifier, default: .init(of: spool)].refresh() { isWhole = false }
      }
    } else {
      isWhole = false
    }
    handle(.found(items()))
    return isWhole
  }

  /// The transfers that are not over.
  private func items() -> [TransferQueue.Item] {
    snapshots.values.flatMap { snapshot in
      snapshot.records.filter { $0.phase != .ended }.map { record in
        let key = Key(session: snapshot.spool.identifier, id: record.id)
        if runs[key] == nil { unsafe unlink(snapshot.spool.path(record.id, "progress")) }
        return item(record, key)
      }
    }
  }

  /// Reads the spools at once, because the queue knows too little, and then tells it something.
  private func scanAgain(before input: TransferQueue.Input) {
    watch?.lookNow()
    handle(input)
  }

  private func item(_ record: TransferRecord, _ key: Key) -> TransferQueue.Item {
    var item = TransferQueue.Item(record, in: key.session)
    // It was on its way when its process ended.
    item.isLost = record.phase == .sending && runs[key] == nil
    return item
  }

  private func spool(of key: Key) -> TransferSpool? { snapshots[key.session]?.spool }

  private static var outcomeUnknown: HTTPError {
    HTTPError(
      .outcomeUnknown, "send",
      message: "the request was on its way when it broke off, and it is not repeated, because it must not be sent twice"
    )
  }

  /// What has become of a change.
  private enum Change {
    case stored(TransferRecord)
    /// The record is not there any more.
    case gone
    /// The disk is full or broken.
    case failed
  }

  private func change(_ key: Key, _ body: (inout TransferRecord) -> Void) -> Change {
    do throws(HTTPError) {
      guard let spool = spool(of: key) else { return .gone }
      if let record = try spool.change(key.id, body) { return .stored(record) }
      return spool.isGone(key.id) ? .gone : .failed
    } catch {
      StandardError.warn("\(error)".sanitizedForTerminal)
      return .failed
    }
  }

  // MARK: The queue

  /// Tells the queue, and does what it says: one input after the other, however many an output brings with it.
  private func handle(_ input: TransferQueue.Input) {
    inputs.append(input)
    if !isHandling { handleInputs() }
  }

  private func handleInputs() {
    isHandling = true
    for _ in 0..<Self.mostInputs where !inputs.isEmpty {
      for output in queue.handle(inputs.removeFirst(), at: loop.now, wall: TransferRecord.now) { perform(output) }
    }
    isHandling = false
    // The loop has other things to do as well.
    if !inputs.isEmpty { later { if !$0.isHandling { $0.handleInputs() } } }
  }

  private func perform(_ output: TransferQueue.Output) {
    switch output {
    case .begin(let key): begin(key)
    case .stop(let key):
      runs[key]?.isStopping = true
      runs[key]?.stop()
    case .cancel(let key):
      if let record = snapshots[key.session]?.record(key.id) { removeFiles(of: record) }
      over(key, .failure(HTTPError(.cancelled, "cancel")))
    case .lose(let key):
      guard spool(of: key)?.record(key.id)?.phase == .sending else { return scanAgain(before: .stopped(key)) }
      over(key, .failure(Self.outcomeUnknown))
    case .sleep(let until, let wall):
      let wallDelay = wall.map { loop.now + .seconds(min(max($0 - TransferRecord.now, 0.001), 1e9)) }
      wakeTimer?.set(at: [until, wallDelay].compactMap(\.self).min())
      setPowerTimer()
    case .done:
      // A later input may bring more.
      guard inputs.isEmpty else { return }
      isDone = true
      loop.stop()
    }
  }

  /// Removes what a download has left beside its target.
  private func removeFiles(of record: TransferRecord) {
    guard record.kind == .download else { return }
    PartialFile.discard(for: URL(filePath: record.draft))
    unsafe unlink(record.draft)
  }

  // MARK: One transfer

  private func begin(_ key: Key) {
    let change = change(key) { $0.notice = nil }
    if case .gone = change { return handle(.ended(key)) }
    guard case .stored(let record) = change else { return handle(.failed(key, .disk)) }
    guard record.phase == .waiting || record.phase == .placing else { return handle(.ended(key)) }
    // It may have been changed since the queue was told.
    guard !record.isPaused, !record.isCancelled else { return scanAgain(before: .stopped(key)) }
    runs[key] = Run(record: record)
    if record.phase == .placing { return finish(key, record.end?.response) }
    if record.kind == .download, unsafe access(record.draft, F_OK) == 0 {
      // It was complete when its process ended.
      return ended(key, .success(HTTPResponse(status: .ok)))
    }
    let command = CredentialCommand(words: record.settings.credentialCommand)
    guard !command.words.isEmpty else { return start(key, CredentialCommand.Credentials()) }
    // The command may take its time.
    let own = LoopBound(self, on: loop)
    let report: @Sendable (Result<CredentialCommand.Credentials, HTTPError>) -> Void = {
      [handle = loop.handle] result in
      handle.submit { own.value(on: $0)?.start(key, result) }
    }
    do throws(SystemError) {
      try BackgroundThread.start(name: "netwatch-secret") {
        do throws(HTTPError) { report(.success(try command.run())) } catch { report(.failure(error)) }
      }
    } catch {
      report(.failure(HTTPError(.other, "start a thread", code: error.code, message: error.message)))
    }
  }

  private func start(_ key: Key, _ credentials: Result<CredentialCommand.Credentials, HTTPError>) {
    switch credentials {
    case .failure(let error): ended(key, .failure(error))
    case .success(let credentials):
      guard runs[key]?.isStopping == false else {
        // Nothing was sent.
        leave(key)
        return handle(.stopped(key))
      }
      start(key, credentials)
    }
  }

  private func start(_ key: Key, _ credentials: CredentialCommand.Credentials) {
    guard let record = runs[key]?.record else { return }
    guard let spool = spool(of: key) else {
      leave(key)
      return handle(.ended(key))
    }
    do throws(HTTPError) {
      let session = try session(record)
      let progress = try ProgressFile(spool.path(record.id, "progress"))
      runs[key]?.progress = progress
      var options = options(record, credentials) { progress.write($0) }
      if record.mustNotRepeat {
        // From here on, a process that finds the record does not know what the server has done.
        let change = change(key) { if !$0.isPaused, !$0.isCancelled { $0.phase = .sending } }
        guard case .stored(let now) = change else {
          leave(key)
          return handle(.failed(key, .disk))
        }
        guard now.phase == .sending else {
          leave(key)
          return scanAgain(before: .stopped(key))
        }
        runs[key]?.isSending = true
        if let wasRedirected = runs[key]?.wasRedirected {
          options.onRedirect = { redirect in
            wasRedirected.withLock { $0 = true }
            return redirect.next
          }
        }
      }
      var request = record.request
      if let authorization = credentials.authorization { request.headerFields[.authorization] = authorization }
      switch record.kind {
      case .download: try download(key, record, request, session, options)
      case .upload: try upload(key, record, request, session, options)
      }
    } catch {
      ended(key, .failure(error))
    }
  }

  private func session(_ record: TransferRecord) throws(HTTPError) -> HTTPSessionManager {
    let settings = record.settings
    let key = SessionKey(
      kind: record.kind, pinning: settings.pinning, userAgent: settings.userAgent,
      acceptsCompressedResponses: settings.acceptsCompressedResponses)
    // On a connection that was used before, libcurl may send a request that was lost once more.
    if let session = sessions[key], !record.mustNotRepeat { return session }
    var configuration = HTTPSessionConfiguration()
    configuration.userAgent = settings.userAgent
    configuration.acceptsCompressedResponses = settings.acceptsCompressedResponses
    // A download loses nothing if it leaves a route that may come back. An upload would begin again.
    if record.kind == .download { configuration.pathLossGrace = .zero }
    // A transfer has no cookies but those of its own request.
    configuration.handlesCookies = false
    let session = try HTTPSessionManager(
      configuration: configuration, policy: settings.pinning?.policy() ?? .system, observer: observer, path: path)
    if !record.mustNotRepeat { sessions[key] = session }
    return session
  }

  private func options(
    _ record: TransferRecord, _ credentials: CredentialCommand.Credentials,
    _ onProgress: @escaping @Sendable (HTTPProgress) -> Void
  ) -> HTTPTaskOptions {
    let settings = record.settings
    return .with { options in
      // Without a path to the server, the task fails before anything is sent.
      options.reachabilityTimeout = .zero
      options.timeout = settings.silence
      options.maximumResponseBytes = settings.maximumResponseBytes
      options.maximumRedirects = settings.maximumRedirects
      options.allowsRepetition = settings.allowsRepetition
      options.isIndicated = settings.isIndicated
      options.label = record.label
      options.credential = credentials.credential
      options.flushesFiles = true
      options.executor = .immediate
      options.onProgress = onProgress
      options.progressInterval = ProgressFile.interval
    }
  }

  private func download(
    _ key: Key, _ record: TransferRecord, _ request: HTTPRequest, _ session: HTTPSessionManager,
    _ options: HTTPTaskOptions
  ) throws(HTTPError) {
    let target = URL(filePath: record.file)
    if record.createsFolders { try OpenFile.createFolder(of: target) }
    _ = try OpenFile.name(of: target, replacesExisting: record.replacesExisting)
    try record.checkFolder()
    let report = report(key)
    let download = session.resumableDownload(
      request, to: URL(filePath: record.draft), replacesExisting: true, options: options
    ) { report($0.map(\.response)) }
    runs[key]?.stop = { download.cancel(keepsFiles: true) }
    download.resume()
  }

  private func upload(
    _ key: Key, _ record: TransferRecord, _ request: HTTPRequest, _ session: HTTPSessionManager,
    _ options: HTTPTaskOptions
  ) throws(HTTPError) {
    // The content type is already in the request.
    let body = try HTTPBody.file(URL(filePath: record.file), contentType: nil, contentEncoding: nil)
    let answer = spool(of: key)?.path(record.id, "answer") ?? ""
    let report = report(key)
    let task = session.uploadTask(request, from: body, options: options) { result in
      report(
        result.flatMap { reply in
          do throws(HTTPError) {
            try OpenFile.write(Array(reply.value), toTrusted: answer)
            return .success(reply.response)
          } catch {
            // The server has answered, so the request is not sent again.
            var failure = HTTPError(.other, "store the response", message: error.message, underlying: error)
            failure.response = reply.response
            return .failure(failure)
          }
        })
    }
    // The task does not hold its session.
    runs[key]?.stop = { withExtendedLifetime(session) { task.cancel() } }
    task.resume()
  }

  private func report(_ key: Key) -> @Sendable (Result<HTTPResponse, HTTPError>) -> Void {
    let own = LoopBound(self, on: loop)
    return { [handle = loop.handle] result in handle.submit { own.value(on: $0)?.ended(key, result) } }
  }

  // MARK: Ends

  /// A run has ended in whatever way.
  private func ended(_ key: Key, _ result: Result<HTTPResponse, HTTPError>) {
    guard let run = runs[key] else { return }
    switch result {
    case .success(let response):
      guard run.record.kind == .download else { return over(key, .success(response)) }
      // The name of the draft must be on the disk before the record that speaks of it.
      OpenFile.flushFolder(of: run.record.draft)
      let change = change(key) { record in
        record.phase = .placing
        record.end = .init(response, at: TransferRecord.now)
      }
      if case .failed = change { return again { $0.ended(key, result) } }
      finish(key, response)
    case .failure(let error): failed(key, run, error)
    }
  }

  /// Gives a complete download its name. A process that has ended in between may already have done it.
  private func finish(_ key: Key, _ response: HTTPResponse?) {
    guard let record = runs[key]?.record else { return }
    do throws(HTTPError) {
      let draft = try FileName(record.draft)
      if draft.status != nil {
        let target = try OpenFile.name(of: URL(filePath: record.file), replacesExisting: record.replacesExisting)
        try draft.place(at: target, replacesExisting: record.replacesExisting)
        OpenFile.flushFolder(of: record.file)
      } else if try FileName(record.file).status == nil {
        // Neither is there: the disk has lost the draft, or is another one.
        leave(key)
        _ = change(key) { ($0.phase, $0.end) = (.waiting, nil) }
        return handle(.failed(key, .disk))
      }
      over(key, .success(response ?? HTTPResponse(status: .ok)))
    } catch {
      guard Self.mayPass(error.code) else {
        let message = "\(error.message); what has arrived is in \(record.draft)"
        return over(
          key, .failure(HTTPError(.fileFailed, error.operation, code: error.code, domain: .system, message: message)))
      }
      leave(key)
      handle(.failed(key, .disk))
    }
  }

  /// Stores how a transfer has ended, as often as it takes, and tells the queue.
  private func over(_ key: Key, _ result: Result<HTTPResponse, HTTPError>) {
    let change = change(key) { record in
      record.phase = .ended
      record.notice = nil
      record.end =
        switch result {
        case .success(let response): .init(response, at: TransferRecord.now)
        case .failure(let error): .init(error, at: TransferRecord.now)
        }
    }
    if case .failed = change { return again { $0.over(key, result) } }
    leave(key)
    handle(.ended(key))
  }

  /// Does something after a while, because the disk was full.
  private func again(_ body: @escaping (TransferWorker) -> Void) {
    loop.schedule(after: Self.retryInterval) { [weak self] in if let self { body(self) } }
  }

  /// Forgets a run.
  private func leave(_ key: Key) {
    runs[key]?.progress?.remove()
    runs[key] = nil
  }

  private func failed(_ key: Key, _ run: Run, _ error: HTTPError) {
    if run.isSending, !error.provesNothingSent || run.wasRedirected.withLock({ $0 }) {
      return over(key, .failure(error.response == nil ? Self.outcomeUnknown : error))
    }
    if run.isStopping, error.kind == .cancelled {
      leave(key)
      return handle(.stopped(key))
    }
    guard let failure = failure(key, error) else {
      // Nobody else can go on with what has arrived.
      removeFiles(of: run.record)
      return over(key, .failure(error))
    }
    let change = change(key) { record in
      if record.phase == .sending { record.phase = .waiting }
      record.notice = failure == .disk ? "no room is left for \(record.file)" : "\(error.kind): \(error.message)"
    }
    // A record that still says that the request is on its way would be told as that.
    if case .failed = change, run.isSending { return again { $0.ended(key, .failure(error)) } }
    leave(key)
    handle(.failed(key, failure))
  }

  /// The cause of a failure that may pass; nil for any other failure.
  private func failure(_ key: Key, _ error: HTTPError) -> TransferQueue.Failure? {
    switch error.kind {
    case .timedOut, .notResolved, .cannotConnect, .connectionLost, .pathLost, .notReachable: return .network
    case .fileFailed where Self.mayPass(error.code): return .disk
    // A login page, a locked keyring, no thread: all of them may pass, or be for ever.
    case .secureConnectionFailed, .serverCertificateUntrusted, .notAuthenticated, .other, .invalidated:
      return mayTryAgain(key) ? .server(retryAfter: nil) : nil
    case .badServerResponse:
      guard let response = error.response, [408, 425, 429, 500, 502, 503, 504].contains(response.status.code),
        mayTryAgain(key)
      else { return nil }
      return .server(retryAfter: response.headerFields[.retryAfter].flatMap { Int64($0) }.map { .seconds($0) })
    default: return nil
    }
  }

  /// Whether a failure of a file may pass: there is no room, no descriptor, no memory, or the disk has a fault.
  private static func mayPass(_ code: CInt) -> Bool {
    [ENOSPC, EDQUOT, EIO].contains(code) || SystemError.isPassing(code)
  }

  /// Counts a refusal. More bytes than at the last one begin a new count.
  private func mayTryAgain(_ key: Key) -> Bool {
    let received = spool(of: key).flatMap { ProgressFile.read($0.path(key.id, "progress")) }?.received ?? 0
    let last = failures[key] ?? (0, 0)
    failures[key] = (received > last.received ? 1 : last.count + 1, max(received, last.received))
    return (failures[key]?.count ?? 0) < Self.mostRefusals
  }

  /// Does something after the present work.
  private func later(_ body: @escaping @Sendable (TransferWorker) -> Void) {
    let own = LoopBound(self, on: loop)
    loop.handle.submit { if let worker = own.value(on: $0) { body(worker) } }
  }
}

extension TransferQueue.Item {
  init(_ record: TransferRecord, in session: String) {
    self.init(id: record.id, number: record.number, session: session, host: record.request.authority ?? "")
    isLocal = Authority(host).map { Self.isLocal($0.host) } ?? false
    isOnce = record.mustNotRepeat
    priority = record.priority
    (isPaused, isCancelled, resumed) = (record.isPaused, record.isCancelled, record.resumed)
    (needsUnmetered, needsPower) = (record.conditions.isUnmetered, record.conditions.isOnPower)
    media = record.conditions.media.map(Set.init)
    notBefore = record.conditions.notBefore
    mostOfHost = max(1, record.settings.connectionsPerHost)
    mostOfSession = max(1, record.settings.connections ?? mostOfSession)
  }

  /// Whether a host is an address, or a name that no server of the internet is asked for (RFC 6761, RFC 6762).
  private static func isLocal(_ host: String) -> Bool {
    let name = host.lowercased()
    return host.hasPrefix("[") || InternetAddress(host) != nil || !name.contains(".") || name.hasSuffix(".localhost")
      || name.hasSuffix(".local")
  }
}

extension TransferRecord {
  /// Checks whether the folder of the target is still the one for which the transfer was made, or at least of the same owner.
  fileprivate func checkFolder() throws(HTTPError) {
    guard let owner = Self.owner(of: folder) else { throw HTTPError(file: folder, "open the folder") }
    guard let expected = folderOwner, expected != owner else { return }
    throw HTTPError(
      .fileFailed, "open the folder \(folder)", message: "it belongs to another user now; name a folder of your own")
  }
}

extension HTTPError {
  /// Whether nothing of the request can have reached the server.
  fileprivate var provesNothingSent: Bool {
    [
      .notResolved, .cannotConnect, .notReachable, .serverCertificateUntrusted, .secureConnectionFailed,
      .clientCertificateRequired, .badURL, .badConfiguration, .badSecurityPolicy, .notAuthenticated, .fileFailed,
    ].contains(kind)
  }
}

extension OpenFile {
  /// Writes a file that only this user can read, and flushes it to the disk.
  fileprivate static func write(_ bytes: [UInt8], toTrusted path: String) throws(HTTPError) {
    let name = try FileName(path)
    let file = try createTrusted(name, rights: 0o600)
    try file.write(bytes, at: 0, named: path)
    guard fsync(file.number) == 0 else { throw HTTPError(file: path, "fsync") }
  }
}

/// Whether the machine runs on its battery.
enum PowerSupply {
  /// Whether a supply is connected, or there is no battery.
  ///
  /// - Parameter folder: The folder of the kernel's power supplies (Documentation/ABI/testing/sysfs-class-power).
  static func isOnPower(_ folder: String = "/sys/class/power_supply") -> Bool {
    var hasBattery = false
    for name in FileDescriptor.names(inFolder: folder) where !name.hasPrefix(".") {
      if FileDescriptor.text(of: "\(folder)/\(name)/online") == "1" { return true }
      // Mice and keyboards have batteries too, which supply only themselves.
      if FileDescriptor.text(of: "\(folder)/\(name)/type") == "Battery",
        FileDescriptor.text(of: "\(folder)/\(name)/scope") != "Device"
      {
        hasBattery = true
      }
    }
    return !hasBattery
  }
}
