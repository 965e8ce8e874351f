import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// When a task of a background session may run, beside a path to its server.
public struct BackgroundConditions: Hashable, Sendable {
  /// Whether the path must cost nothing: no modem, no metered WiFi network. While that is not known, the task waits. Default: false.
  public var isUnmetered = false
  /// Whether the machine must not run on its battery. Default: false.
  public var isOnPower = false
  /// The earliest time at which the task begins. Default: nil, now. A clock that is set counts at once.
  public var earliestBegin: Date?
  /// Tasks with a higher priority begin first. Default: 0.
  public var priority = 0

  /// Creates conditions that always hold.
  public init() {}

  /// The conditions for work that can wait: on an unmetered path and on power.
  public static var discretionary: BackgroundConditions {
    var conditions = BackgroundConditions()
    (conditions.isUnmetered, conditions.isOnPower) = (true, true)
    return conditions
  }
}

extension HTTPSessionManager {
  /// Opens a background session: its downloads and uploads go on when this program has ended, after a crash, and after a restart of
  /// the machine. A later session of the same user with the same identifier finds them again.
  ///
  /// ```swift
  /// let session = try HTTPSessionManager.background("models")
  /// let task = try await session.downloadTask("https://example.org/model.bin", to: file, conditions: .discretionary)
  /// try task.resume()
  /// for await end in session.finishedEvents {
  ///   print(end.file.path, end.result)
  ///   try await end.acknowledge()
  /// }
  /// ```
  ///
  /// The tasks are files in `$XDG_STATE_HOME/netwatch/transfers`, which only this user can read. A program of netwatch, `netwatch-http`,
  /// carries them out; it is started when there is something to do, and ends when nothing is left. Where a user's systemd runs, it
  /// starts the program; it then goes on after a logout if the user may linger (`loginctl enable-linger`).
  ///
  /// - Parameters:
  ///   - identifier: The name of the session. Two programs with the same name share their tasks.
  ///   - baseURL: The URL that paths are relative to. Default: nil.
  ///   - configuration: The settings of the session. Of them, header fields, the user agent, serializers, the options of tasks,
  ///     compression and the most connections are used: that many transfers run at a time, by default 4, and 6 to a host. What cannot be stored is refused: interceptors, a transport, a cache,
  ///     observers, policies and certificates of single hosts, a proxy other than the environment's, and places of connections.
  ///   - policy: The policy that decides which servers are trusted. It may only have pins. Default: the system's.
  ///   - credentialCommand: The words of a command that prints the credentials when a task begins, each time: lines with `username=` and
  ///     `password=`, as git's credential helpers do, or `authorization=` for a header field. No shell is used. Default: none.
  ///   - storesSecrets: Whether `Authorization`, `Proxy-Authorization`, `Cookie` and passwords are stored with the tasks. Default: false,
  ///     a task with one of them is refused.
  ///   - worker: The program `netwatch-http`. Default: nil, the one beside this program, or of the installed netwatch.
  /// - Throws: `badConfiguration` for what cannot be stored, `badURL`, or `fileFailed` if the folder cannot be used.
  public static func background(
    _ identifier: String, baseURL: URL? = nil, configuration: HTTPSessionConfiguration = .init(),
    policy: SecurityPolicy = .system, credentialCommand: [String] = [], storesSecrets: Bool = false, worker: URL? = nil
  ) throws(HTTPError) -> BackgroundSession {
    try BackgroundSession(
      TransferSpool(identifier), HTTPSessionManager(baseURL: baseURL, configuration: configuration, policy: policy),
      TransferRecord.Settings(configuration, policy, credentialCommand), storesSecrets: storesSecrets, worker: worker)
  }
}

/// A session whose downloads and uploads outlive the program. ``HTTPSessionManager/background(_:baseURL:configuration:policy:credentialCommand:storesSecrets:worker:)``
/// opens it.
///
/// All members can be used from any thread.
public final class BackgroundSession: Sendable {
  /// The name of the session.
  public let identifier: String
  /// The ends of tasks without a completion: those that ended while no program looked, and then each new one. Each end comes again in
  /// a later session until ``BackgroundEnd/acknowledge()`` is called. The sequence has one reader, and ends with the session.
  public let finishedEvents: AsyncStream<BackgroundEnd>

  private let spool: TransferSpool
  private let planner: HTTPSessionManager
  private let settings: TransferRecord.Settings
  private let storesSecrets: Bool
  /// The path of the program; nil for the one that is found.
  private let worker: String?
  private let follower: Follower

  init(
    _ spool: TransferSpool, _ planner: HTTPSessionManager, _ settings: TransferRecord.Settings, storesSecrets: Bool,
    worker: URL?
  ) throws(HTTPError) {
    identifier = spool.identifier
    (self.spool, self.planner, self.settings) = (spool, planner, settings)
    (self.storesSecrets, self.worker) = (storesSecrets, worker?.path(percentEncoded: false))
    let (events, continuation) = AsyncStream.makeStream(of: BackgroundEnd.self)
    finishedEvents = events
    follower = Follower(spool, continuation) { [worker = self.worker] in try? TransferWorker.start(worker) }
    try follower.start()
  }

  deinit { follower.stop() }

  // MARK: Tasks

  /// Creates a suspended task that saves its response as a file. `resume()` begins it. When this call returns, the task is stored.
  ///
  /// The bytes arrive in a file beside the target, which gets its name when it is complete. A response with a status outside 200 to 299
  /// is an error, except for statuses that may pass (408, 425, 429, 500, 502, 503, 504), after which the server is asked again. If the
  /// server reports that its file has changed, the download begins again.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``. The method must be GET.
  ///   - file: The place of the file.
  ///   - replacesExisting: Whether an existing file is replaced. Default: false, it is an error.
  ///   - createsFolders: Whether missing folders above the file are made. Default: false, a missing folder is an error.
  ///   - conditions: When the task may run. Default: at once.
  ///   - options: The options of the task. Options that are not set come from the session. Closures cannot be stored, and are refused,
  ///     except for `onProgress`, which is called while this program runs.
  ///   - completion: Called once by the executor of the options if this program still runs at the end; the end is then acknowledged.
  ///     Default: nil, the end is one of ``finishedEvents``.
  /// - Throws: The error of the request, `badConfiguration` for what cannot be stored, or `fileFailed`.
  public func downloadTask(
    _ request: some RequestConvertible, to file: URL, replacesExisting: Bool = false, createsFolders: Bool = false,
    conditions: BackgroundConditions = .init(), options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: (@Sendable (Result<HTTPReply<URL>, HTTPError>) -> Void)? = nil
  ) async throws(HTTPError) -> BackgroundTask {
    let plan = planner.plan(request, nil, options, .download, defaults: [.acceptEncoding: "identity"])
    guard plan.refusal != nil || plan.request.method == .get else {
      throw HTTPError(.cannotEncodeRequest, "download", message: "only a GET can be resumed")
    }
    var target = file.absoluteURL
    if plan.refusal == nil {
      do throws(HTTPError) {
        // The file arrives where a link leads to. Beside the link may be another file system.
        target = URL(filePath: try OpenFile.name(of: target, replacesExisting: replacesExisting).path)
      } catch {
        // What is in the way now is told now, but for folders that are made later.
        guard createsFolders, error.code == ENOENT else { throw error }
      }
    }
    return try store(plan, .download, target, conditions, completion) { record in
      (record.replacesExisting, record.createsFolders) = (replacesExisting, createsFolders)
    }
  }

  /// Creates a suspended task that sends a body. `resume()` begins it. When this call returns, the task is stored.
  ///
  /// A body that is no file is written into the session's folder first. A response with any status is a success. After a crash, a
  /// request whose method is idempotent (such as PUT), or with ``HTTPTaskOptions/allowsRepetition``, is sent again. Any other request
  /// that was on its way ends with `outcomeUnknown`, and is never sent twice.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``. The method of a path or a
  ///     URL is POST.
  ///   - body: The body to send.
  ///   - conditions: When the task may run. Default: at once.
  ///   - options: The options of the task, as for a download.
  ///   - completion: Called once by the executor of the options if this program still runs at the end; the end is then acknowledged.
  ///     Default: nil, the end is one of ``finishedEvents``.
  /// - Throws: The error of the request or of the body, `badConfiguration` for what cannot be stored, or `fileFailed`.
  public func uploadTask(
    _ request: some RequestConvertible, from body: HTTPBody, conditions: BackgroundConditions = .init(),
    options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: (@Sendable (Result<HTTPReply<Data>, HTTPError>) -> Void)? = nil
  ) async throws(HTTPError) -> BackgroundTask {
    let plan = planner.plan(request, body, options, .upload)
    if let refusal = plan.refusal { throw refusal }
    var spooled: URL?
    var file = URL(filePath: "/")
    if case .file(let path) = body.place {
      file = URL(filePath: path).absoluteURL
    } else {
      let draft = URL(filePath: "\(spool.folder)/\(UInt64.random(in: 0 ... .max)).spooled")
      _ = try await body.write(to: draft, replacesExisting: false, isFlushed: true)
      (spooled, file) = (draft, draft)
    }
    do throws(HTTPError) {
      return try store(plan, .upload, file, conditions, completion) { record in
        record.isSpooled = spooled != nil
      }
    } catch {
      if let spooled { unsafe unlink(spooled.path) }
      throw error
    }
  }

  private func store<Value: Sendable>(
    _ plan: RequestPlan, _ kind: TransferRecord.Kind, _ file: URL, _ conditions: BackgroundConditions,
    _ completion: (@Sendable (Result<HTTPReply<Value>, HTTPError>) -> Void)?,
    _ change: @escaping (inout TransferRecord) -> Void
  ) throws(HTTPError) -> BackgroundTask {
    if let refusal = plan.refusal { throw refusal }
    let request = try storable(plan)
    let settings = try settings.with(plan.options)
    let record = try spool.insert { (id: String) throws(HTTPError) -> TransferRecord in
      var record = TransferRecord(
        id: id, kind: kind, request: request, file: file.path(percentEncoded: false),
        made: TransferRecord.now)
      record.label = plan.options.label
      record.conditions = .init(conditions, plan.options)
      record.priority = conditions.priority
      record.settings = settings
      record.pause()
      if kind == .download { record.folderOwner = TransferRecord.owner(of: record.folder) }
      change(&record)
      return record
    }
    let task = follower.task(record, planner.callbacks(plan.options))
    if let completion { task.deliver = { [spool] (record: TransferRecord) in completion(record.reply(in: spool)) } }
    return task
  }

  /// The request of a plan, if it may be stored.
  private func storable(_ plan: RequestPlan) throws(HTTPError) -> HTTPRequest {
    var request = plan.request
    if let credential = plan.options.credential {
      guard storesSecrets, credential.scheme == .basic || credential.scheme == .any else {
        throw .secret("a credential")
      }
      let text = Data("\(credential.user):\(credential.password)".utf8).base64EncodedString()
      request.headerFields[.authorization] = "Basic \(text)"
    }
    if !storesSecrets {
      for name in CredentialScope.fields where request.headerFields.contains(name) { throw .secret("'\(name)'") }
    }
    // The worker sends a file that has neither.
    for (name, value) in [
      (HTTPField.Name.contentType, plan.body?.contentType), (.contentEncoding, plan.body?.contentEncoding),
    ] where !request.headerFields.contains(name) {
      if let value { request.headerFields[name] = value }
    }
    if let agent = planner.configuration.userAgent, !request.headerFields.contains(.userAgent) {
      request.headerFields[.userAgent] = agent
    }
    return request
  }

  /// Starts the program that carries out the tasks, unless it runs. A task is also begun by a worker that somebody else starts.
  ///
  /// - Throws: `fileFailed` if there is no such program, or it cannot be started.
  public func startWorker() throws(HTTPError) { try TransferWorker.start(worker) }

  /// Returns the tasks that have not been acknowledged, in the order in which they were made: those of this program, and those of
  /// earlier ones.
  public func tasks() async -> [BackgroundTask] {
    spool.content().records.map { follower.task($0, planner.callbacks(HTTPTaskOptions())) }
  }

  /// The paths of files in the session's folder that are damaged. They are neither used nor removed.
  public func damagedFiles() async -> [String] { spool.content().damaged }

  /// Waits until no task is left that has not ended, apart from suspended ones.
  public func waitUntilFinished() async {
    for task in await tasks() where task.state != .suspended {
      for await state in task.states where state == .finished || state == .suspended { break }
    }
  }
}

/// The end of a task of a background session.
public struct BackgroundEnd: Sendable {
  /// The id of the task, which no other task of the session ever has.
  public let id: String
  /// The request of the task.
  public let request: HTTPRequest
  /// The task's ``HTTPTaskOptions/label``. Nil if it has none.
  public let label: String?
  /// The file that was made, or that was sent.
  public let file: URL
  /// The head of the response, or the error.
  public let result: Result<HTTPResponse, HTTPError>
  private let spool: TransferSpool

  init(_ record: TransferRecord, in spool: TransferSpool) {
    (id, request, label) = (record.id, record.request, record.label)
    file = URL(filePath: record.file)
    result = record.result
    self.spool = spool
  }

  /// Reads the body of the response to an upload. Empty for a download.
  public func body() async -> Data { spool.answer(id) }

  /// Takes note of the end, so that it is not told again, and removes what the session has kept of the task.
  ///
  /// - Throws: `fileFailed` if the session's folder cannot be written.
  public func acknowledge() async throws(HTTPError) { try spool.remove(id) }
}

/// A download or an upload of a ``BackgroundSession``. All members can be used from any thread.
public final class BackgroundTask: Sendable {
  /// The id of the task, which no other task of the session ever has.
  public let id: String
  /// The request of the task.
  public let request: HTTPRequest
  /// The task's ``HTTPTaskOptions/label``. Nil if it has none.
  public let label: String?
  /// The file that is made or sent.
  public let file: URL
  let status: TaskStatus
  let callbacks: CallbackQueue
  private let spool: TransferSpool
  private let startWorker: @Sendable () -> Void
  private let delivery = Lock<(@Sendable (TransferRecord) -> Void)?>(nil)
  private let hasEnded = Lock(false)

  init(
    _ record: TransferRecord, in spool: TransferSpool, _ callbacks: CallbackQueue,
    startWorker: @escaping @Sendable () -> Void
  ) {
    (id, request, label) = (record.id, record.request, record.label)
    file = URL(filePath: record.file)
    status = TaskStatus(record.state(in: spool))
    (self.spool, self.callbacks, self.startWorker) = (spool, callbacks, startWorker)
  }

  /// Gets the record of the end, instead of the session's events.
  var deliver: (@Sendable (TransferRecord) -> Void)? {
    get { delivery.withLock { $0 } }
    set { delivery.withLock { $0 = newValue } }
  }

  /// Notes the end; false if it was noted before.
  func end() -> Bool {
    hasEnded.withLock { hasEnded in
      defer { hasEnded = true }
      return !hasEnded
    }
  }

  /// The current state of the task. It is `waiting` while no worker runs it, for want of a path, a condition or its turn.
  public var state: HTTPTask.State { status.state }
  /// The current state of the task, and then each change. The sequence ends after ``HTTPTaskInfo/State/finished``.
  public var states: some AsyncSequence<HTTPTask.State, Never> & Sendable {
    LatestValues(broadcast: status.states, owner: self)
  }
  /// The progress of the task.
  public var progress: HTTPProgress { status.progress }
  /// Returns the current progress, and then each change. The sequence ends with the task.
  public func progressUpdates() -> some AsyncSequence<HTTPProgress, Never> & Sendable {
    LatestValues(broadcast: status.updates, owner: self)
  }

  /// Begins the task, or continues it after a suspension.
  ///
  /// - Throws: `fileFailed` if the session's folder cannot be written.
  public func resume() throws(HTTPError) {
    if let record = try spool.change(id, { $0.resume() }) { show(record) }
    startWorker()
  }

  /// Suspends the task, also when this program ends. A download keeps what it has, and an upload begins again; but an upload that must
  /// not be repeated, and is on its way, ends with `outcomeUnknown`.
  ///
  /// - Throws: `fileFailed` if the session's folder cannot be written.
  public func suspend() throws(HTTPError) {
    if let record = try spool.change(id, { $0.pause() }) { show(record) }
  }

  /// Shows the state of a record. The end is shown when it was delivered.
  private func show(_ record: TransferRecord) {
    if record.phase != .ended { status.change(to: record.state(in: spool)) }
  }

  /// Cancels the task, which ends with `cancelled` unless it is already over, and removes what it has received.
  ///
  /// - Throws: `fileFailed` if the session's folder cannot be written.
  public func cancel() throws(HTTPError) {
    try spool.change(id) { $0.isCancelled = true }
    startWorker()
  }
}

extension BackgroundSession {
  /// Follows the spool of a session by inotify, on a thread of its own, and reports to the tasks and events of the session.
  private final class Follower: Sendable {
    private struct State: Sendable {
      var tasks: [String: BackgroundTask] = [:]
      /// The ids whose ends were told as events.
      var told: Set<String> = []
      var loop: LoopHandle?
      var watch: LoopBound<SpoolWatch>?
    }

    private let spool: TransferSpool
    private let events: AsyncStream<BackgroundEnd>.Continuation
    private let startWorker: @Sendable () -> Void
    private let state = Lock(State())

    init(
      _ spool: TransferSpool, _ events: AsyncStream<BackgroundEnd>.Continuation,
      startWorker: @escaping @Sendable () -> Void
    ) {
      (self.spool, self.events, self.startWorker) = (spool, events, startWorker)
    }

    func start() throws(HTTPError) {
      do {
        let (handle, watch) = try EventLoop.startInBackground(name: "netwatch-spool") { [weak self, spool] loop in
          var snapshot = TransferSpool.Snapshot(of: spool)
          var isFirst = true
          let watch = SpoolWatch(of: [spool.folder], hearsProgress: true, on: loop) { [weak self] in
            let isWhole = snapshot.refresh()
            self?.look(at: snapshot, isFirst: isFirst)
            isFirst = false
            return isWhole
          }
          let bound = LoopBound(watch, on: loop)
          loop.handle.submit { bound.value(on: $0)?.look() }
          return (loop.handle, bound)
        }
        state.withLock { ($0.loop, $0.watch) = (handle, watch) }
      } catch {
        throw HTTPError(.other, "follow the transfers", message: "\(error)", underlying: error)
      }
    }

    func stop() {
      let (handle, watch) = state.withLock { ($0.loop, $0.watch) }
      handle?.submit { loop in
        watch?.value(on: loop)?.stop()
        loop.stop()
      }
      events.finish()
    }

    /// Returns the task of a record, the same object each time.
    func task(_ record: TransferRecord, _ callbacks: CallbackQueue) -> BackgroundTask {
      let (task, isNew) = state.withLock { state in
        if let task = state.tasks[record.id] { return (task, false) }
        let task = BackgroundTask(record, in: spool, callbacks, startWorker: startWorker)
        state.tasks[record.id] = task
        return (task, true)
      }
      if isNew {
        // It may have ended, or be gone, since it was read.
        update(task, spool.record(record.id) ?? record)
        if spool.isGone(record.id) { task.status.end() }
      }
      return task
    }

    private func look(at snapshot: TransferSpool.Snapshot, isFirst: Bool) {
      let records = snapshot.records.sorted { ($0.number, $0.id) < ($1.number, $1.id) }
      state.withLock { $0.told.formIntersection(records.map(\.id)) }
      // Work of an earlier program may have been left without a worker.
      if isFirst, records.contains(where: \.wantsWorker) { startWorker() }
      for record in records {
        // A task that was made meanwhile is found too.
        if let task = state.withLock({ $0.tasks[record.id] }) {
          update(task, record)
        } else if record.phase == .ended {
          tell(record)
        }
      }
      // Somebody else has acknowledged these.
      for (id, task) in state.withLock({ $0.tasks }) where spool.isGone(id) {
        task.status.end()
        state.withLock { $0.tasks[id] = nil }
      }
    }

    private func update(_ task: BackgroundTask, _ record: TransferRecord) {
      guard record.phase == .ended else {
        let progress = ProgressFile.read(spool.path(record.id, "progress"))
        if let progress, progress != task.progress {
          task.status.change(to: progress)
          task.callbacks.report(progress)
        }
        return task.status.change(to: record.state(in: spool))
      }
      guard task.end() else { return }
      if let deliver = task.deliver {
        task.callbacks.append { [spool] in
          deliver(record)
          try? spool.remove(record.id)
          task.status.end()
        }
      } else {
        tell(record)
        task.status.end()
      }
    }

    private func tell(_ record: TransferRecord) {
      let isNew = state.withLock { $0.told.insert(record.id).inserted }
      // The record may have been read before it was acknowledged, and be forgotten since.
      if isNew, !spool.isGone(record.id) { events.yield(BackgroundEnd(record, in: spool)) }
    }
  }
}

// MARK: What is stored

extension TransferRecord.Settings {
  /// - Throws: `badConfiguration` for a setting that cannot be stored.
  fileprivate init(
    _ configuration: HTTPSessionConfiguration, _ policy: SecurityPolicy, _ credentialCommand: [String]
  ) throws(HTTPError) {
    let refused: [(String, Bool)] = [
      ("an interceptor", !configuration.interceptors.isEmpty), ("a transport", configuration.transport != nil),
      ("a cache", configuration.cache != nil), ("an observer of events", !configuration.eventObservers.isEmpty),
      ("a policy of a single host", !configuration.hostPolicies.isEmpty || configuration.refusesHostsWithoutPolicy),
      ("a client certificate", !configuration.clientCertificates.isEmpty),
      ("a proxy of its own", configuration.proxy != .environment),
      ("a Unix socket", configuration.unixSocketPath != nil), ("a local endpoint", configuration.localEndpoint != nil),
      ("an address override", !configuration.addressOverrides.isEmpty),
    ]
    for (what, isThere) in refused where isThere { throw .notStored("the session must go without it", what) }
    self.init()
    pinning = try TransferRecord.Pinning(policy)
    self.credentialCommand = credentialCommand
    userAgent = configuration.userAgent
    acceptsCompressedResponses = configuration.acceptsCompressedResponses
    connectionsPerHost = configuration.maximumConnectionsPerHost
    connections = configuration.maximumConnections
  }

  /// - Throws: `badConfiguration` for an option that cannot be stored.
  fileprivate func with(_ options: HTTPTaskOptions) throws(HTTPError) -> TransferRecord.Settings {
    let refused: [(String, Bool)] = [
      ("a closure for redirects", options.onRedirect != nil), ("a closure for challenges", options.onChallenge != nil),
      ("an interceptor", !options.interceptors.isEmpty), ("a closure for the cache", options.onCaching != nil),
      ("a time for the whole task", options.totalTimeout != nil),
    ]
    for (what, isThere) in refused where isThere { throw .notStored("the task must go without it", what) }
    var settings = self
    settings.timeout = options.timeout.map { Double($0.nanoseconds) / 1e9 }
    settings.maximumResponseBytes = options.maximumResponseBytes
    settings.maximumRedirects = options.maximumRedirects
    settings.allowsRepetition = options.allowsRepetition
    settings.isIndicated = options.isIndicated
    return settings
  }
}

extension TransferRecord.Conditions {
  fileprivate init(_ conditions: BackgroundConditions, _ options: HTTPTaskOptions) {
    isUnmetered = conditions.isUnmetered || !options.allowsExpensivePath
    isOnPower = conditions.isOnPower
    media = options.requiredMedia.map { $0.map(\.rawValue).sorted() }
    notBefore = conditions.earliestBegin?.timeIntervalSince1970
  }
}

extension TransferRecord {
  /// Whether a worker has something to do for it.
  package var wantsWorker: Bool { phase != .ended && (isCancelled || !isPaused) }

  /// The state for those who follow the task.
  func state(in spool: TransferSpool) -> HTTPTaskInfo.State {
    if phase == .ended { return .finished }
    if isPaused { return .suspended }
    return unsafe access(spool.path(id, "progress"), F_OK) == 0 ? .running : .waiting
  }

  /// The head of the response, or the error. Before the end, there is none of both, and the error says so.
  package var result: Result<HTTPResponse, HTTPError> {
    if let error = end?.error(of: request) { return .failure(error) }
    guard let response = end?.response else {
      return .failure(HTTPError(.other, "read the transfer", message: "it has not ended"))
    }
    return .success(response)
  }

  /// The result for a completion: the file of a download, or the body of the response to an upload.
  fileprivate func reply<Value: Sendable>(in spool: TransferSpool) -> Result<HTTPReply<Value>, HTTPError> {
    result.flatMap { response in
      let value: any Sendable = kind == .download ? URL(filePath: file) : spool.answer(id)
      guard let value = value as? Value else { return .failure(HTTPError(.other, "read the transfer")) }
      return .success(HTTPReply(response, value, to: request, HTTPMetrics()))
    }
  }
}

extension TransferSpool {
  /// The body of the response to an upload; empty if there is none.
  fileprivate func answer(_ id: String) -> Data { (try? Data(contentsOf: URL(filePath: path(id, "answer")))) ?? Data() }
}

extension HTTPError {
  fileprivate static func secret(_ what: String) -> HTTPError {
    HTTPError(
      .badConfiguration, "store the transfer",
      message: "\(what) would be stored on the disk; give a credentialCommand, or set storesSecrets")
  }
}
