import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// Carries out the effects of a ``ResumeMachine``. The legs of the download are tasks of the session.
final class DownloadCore: Sendable {
  typealias Completion = @Sendable (Result<HTTPReply<URL>, HTTPError>) -> Void

  private struct State: Sendable {
    var machine: ResumeMachine
    var file: PartialFile?
    /// The task that is running, or that waits to be begun.
    var leg: HTTPTask?
    /// The outcome of the last leg.
    var end: Result<HTTPReply<URL>, HTTPError>?
    /// Fulfilled after the completion, for which `waitUntilInvalidated()` of the session waits.
    var hold: Promise<Void>?
    var completion: Completion?

    var taskState: HTTPTaskInfo.State {
      if completion == nil { return .finished }
      if machine.isPaused { return .suspended }
      return leg?.state == .waiting ? .waiting : .running
    }

    var progress: HTTPProgress {
      var progress = HTTPProgress()
      progress.received = machine.offset
      progress.totalToReceive = machine.total
      return progress
    }
  }

  private weak let session: HTTPSessionManager?
  private let plan: RequestPlan
  private var options: HTTPTaskOptions { plan.options }
  private let callbacks: CallbackQueue
  private let state: Lock<State>
  /// The state and the progress, for those who follow them.
  let status = TaskStatus()

  init(
    _ session: HTTPSessionManager, _ plan: RequestPlan, completion: @escaping Completion
  ) {
    self.session = session
    self.plan = plan
    callbacks = session.callbacks(plan.options)
    state = Lock(
      State(
        machine: ResumeMachine(url: plan.request.urlText ?? ""), hold: session.pending.hold(), completion: completion))
  }

  /// Opens the files of the download. To be called once, away from the caller's thread, because files are slow.
  ///
  /// - Parameter given: The resume data to use instead of the data beside the file. Nil uses the data beside the file.
  func load(_ target: URL, replacesExisting: Bool, createsFolders: Bool, _ given: ResumeData?) {
    do throws(HTTPError) {
      if let refusal = plan.refusal { throw refusal }
      guard plan.request.method == .get else {
        throw HTTPError(.cannotEncodeRequest, "download", message: "only a GET can be resumed")
      }
      if createsFolders { try OpenFile.createFolder(of: target) }
      let file = try PartialFile.open(
        for: target, replacesExisting: replacesExisting, isFlushed: options.flushesFiles)
      let size = file.size()
      let data = Self.data(given, file.load(), size: size)
      state.withLock { $0.file = file }
      send(.loaded(data, size: size))
    } catch {
      complete(.failure(error), nil)
    }
  }

  /// Returns the resume data to use. What the caller has kept is about another file if the data beside the file says something
  /// else, or if there is none and the length differs.
  private static func data(_ given: ResumeData?, _ beside: ResumeData?, size: Int64) -> ResumeData? {
    guard let given else { return beside }
    guard let beside else { return given.offset == size ? given : nil }
    return beside.validator == given.validator && beside.isFor(given.url) ? given : beside
  }

  // MARK: From anywhere

  func send(_ event: ResumeMachine.Event) { finish(change(event), nil) }

  var machine: ResumeMachine { state.withLock { $0.machine } }

  // MARK: From the loop

  /// Returns the offset in the file for the next bytes; nil if they are not part of the file.
  func offset(ofNext count: Int, _ file: PartialFile) throws(HTTPError) -> Int64? {
    let machine = machine
    guard case .receiving = machine.phase else { return nil }
    if let limit = options.maximumResponseBytes, machine.offset + Int64(count) > limit {
      throw HTTPError(.responseTooLarge, "download", message: "more than \(limit) bytes")
    }
    if let room = machine.room, room < count { try handle(.received(Int64(count)), file) }
    return machine.offset
  }

  func handle(_ event: ResumeMachine.Event, _ file: PartialFile) throws(HTTPError) {
    for effect in change(event) {
      switch effect {
      case .truncate: try file.empty()
      case .cut(let offset): try file.cut(to: offset)
      case .beginFresh: try file.beginFresh()
      case .promoteFresh: if let data = machine.data { try file.promoteFresh(data) }
      case .dropFresh: file.dropFresh()
      case .forget: try file.forget()
      case .record: if let data = machine.data { try file.record(data) }
      case .install: try file.install()
      case .refuse(let refusal): throw HTTPError(refusal)
      case .ask, .begin, .breakOff, .discard, .complete: break
      }
    }
    if options.onProgress != nil { callbacks.report(status.progress) }
  }

  /// Prepares the file for another attempt of the leg, whose body has broken off.
  ///
  /// - Returns: The range that the attempt requests.
  func restart(_ file: PartialFile) throws(HTTPError) -> ResumeRange? {
    try handle(.restarted, file)
    return machine.range
  }

  private func legEnded(_ outcome: Transfer.Outcome, _ over: Promise<Void>) {
    let end: ResumeMachine.LegEnd
    let result: Result<HTTPReply<URL>, HTTPError> = outcome.converted { reply throws(HTTPError) in
      reply.with(try reply.value.file)
    }
    switch result {
    case .success: end = .success
    case .failure(let error): end = .init(error, goesOn: options.retriesWhenReachable)
    }
    state.withLock { $0.end = result }
    finish(change(.legEnded(end)), over)
  }

  // MARK: Effects

  /// Carries out the effects that concern the legs, under the lock, so that a leg gets the wishes in their order. Returns the
  /// other effects.
  private func change(_ event: ResumeMachine.Event) -> [ResumeMachine.Effect] {
    let (effects, news) = state.withLock { state in
      var effects = state.machine.handle(event)
      var others: [ResumeMachine.Effect] = []
      while !effects.isEmpty {
        let effect = effects.removeFirst()
        switch effect {
        case .ask(let range, let isSuspended):
          state.leg = leg(range, isSuspended: isSuspended, state.file)
          if state.leg == nil {
            state.end = .failure(HTTPError(.invalidated, "download"))
            effects += state.machine.handle(.legEnded(.failure))
          }
        case .begin: state.leg?.resume()
        case .breakOff: state.leg?.cancel()
        default: others.append(effect)
        }
      }
      return (others, status.stage(state.taskState, progress: state.progress))
    }
    news.deliver()
    return effects
  }

  private func legChanged() { state.withLock { status.stage($0.taskState) }.deliver() }

  private func finish(_ effects: [ResumeMachine.Effect], _ over: Promise<Void>?) {
    for effect in effects {
      switch effect {
      case .dropFresh: state.withLock { $0.file }?.dropFresh()
      case .discard: state.withLock { $0.file }?.discard()
      case .complete:
        // The files are closed with their last reference.
        let (end, file) = state.withLock { state in
          state.leg = nil
          return (state.end, state.file.take())
        }
        // Released first, because the completion may begin another download of the same file.
        file?.release()
        complete(end ?? .failure(HTTPError(.cancelled, "cancel")), over)
      default: break
      }
    }
  }

  private func complete(_ result: Result<HTTPReply<URL>, HTTPError>, _ over: Promise<Void>?) {
    let (completion, hold) = state.withLock { state in
      defer { (state.completion, state.hold) = (nil, nil) }
      return (state.completion, state.hold)
    }
    guard let completion else { return }
    status.end()
    callbacks.append {
      completion(result)
      over?.fulfill()
      hold?.fulfill()
    }
  }

  /// Returns the task of the next leg. Nil if the session no longer exists.
  private func leg(_ range: ResumeRange?, isSuspended: Bool, _ file: PartialFile?) -> HTTPTask? {
    guard let session, let file else { return nil }
    var (request, options) = (plan.request, plan.options)
    range.ask(in: &request)
    options.onProgress = nil
    let leg = session.task(
      plan.with(request, options: options), isSuspended: isSuspended, makeSink: { _ in ResumeSink(self, file) }
    ) { outcome, over in
      // Never called within the lock: a session that has ended drops a request while it is handed over.
      Task { self.legEnded(outcome, over) }
    }
    _ = leg.status.states.subscribe(initial: false) { [weak self] in self?.legChanged() }
    return leg
  }
}

extension ResumeMachine.LegEnd {
  /// - Parameter goesOn: Whether the download continues when the path to the server is back.
  fileprivate init(_ error: HTTPError, goesOn: Bool) {
    switch error.kind {
    case .cancelled: self = .cancelled
    case .pathLost where goesOn: self = .pathLost
    default: self = .failure
    }
  }
}

extension HTTPError {
  init(_ refusal: ResumeRefusal) {
    let operation = "download"
    switch refusal {
    case .status(let code):
      self.init(.badServerResponse, operation, code: CInt(clamping: code), domain: .http, message: "status \(code)")
    case .otherRange:
      self.init(.badServerResponse, operation, message: "the server has sent another part than was asked for")
    case .changed: self.init(.badServerResponse, operation, message: "the server has sent a part of another file")
    case .tooLong: self.init(.badServerResponse, operation, message: "the server has sent more than there is")
    case .tooShort:
      self.init(.connectionLost, operation, reason: .closed, message: "the server has sent less than it promised")
    }
  }
}
