import Netwatch

/// The combined progress of several tasks and downloads, and of other trees. All members can be used from any thread.
///
/// ```swift
/// let tree = HTTPProgressTree()
/// for task in tasks { tree.add(task) }
/// for await progress in tree.progressUpdates() { print(progress) }
/// ```
///
/// A task that is over counts as done, whatever its result is. A tree holds the trees that were added, but not the tasks: a
/// suspended task that nobody else holds is cancelled, and is then over.
public final class HTTPProgressTree: Sendable {
  private enum Source: Sendable {
    case task(TaskStatus, cancel: @Sendable () -> Void)
    case tree(HTTPProgressTree)

    var updates: Broadcast<HTTPProgress, Never> {
      switch self {
      case .task(let status, _): status.updates
      case .tree(let tree): tree.broadcast
      }
    }
  }

  /// A task or a tree. A task that is over counts as one until the tree takes note of its end.
  private struct Child: Sendable {
    let source: Source
    let weight: Double
    /// What wakes this tree when the child changes.
    var subscriber: Broadcast<HTTPProgress, Never>.Subscriber?
  }

  private struct State: Sendable {
    var children: [Int: Child] = [:]
    /// The number of the last child.
    var last = 0
    /// The number of tasks that will be added, each with the weight 1.
    var places: Int
    /// The sum over the tasks that are over and no children any more.
    var ended = Sum()
    /// Whether the last report was made less than the interval ago.
    var isResting = false
    /// Whether the progress has changed since the last report.
    var hasNews = false
  }

  private let state: Lock<State>
  private let broadcast = Broadcast<HTTPProgress, Never>(HTTPProgress())
  private let interval: Duration
  private let sleep: @Sendable (Duration) async -> Void
  private let cancelPlaces: @Sendable () -> Void

  /// Creates a tree without tasks.
  ///
  /// - Parameter interval: The shortest time between two reports to readers, except when a task ends. Default: 50 milliseconds.
  public convenience init(interval: Duration = .milliseconds(50)) { self.init(interval, places: 0, cancelPlaces: {}) }

  /// - Parameters:
  ///   - places: The number of tasks that will be added by ``addToPlace(_:)``, or that ``giveUpPlace()`` stands for.
  ///   - cancelPlaces: Cancels these tasks.
  ///   - sleep: Waits for a time.
  init(
    _ interval: Duration, places: Int, cancelPlaces: @escaping @Sendable () -> Void,
    sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    state = Lock(State(places: places))
    self.interval = interval.asDelay
    self.sleep = sleep
    self.cancelPlaces = cancelPlaces
  }

  deinit {
    for child in children {
      if let subscriber = child.subscriber { child.source.updates.unsubscribe(subscriber) }
    }
  }

  private var children: [Child] { state.withLock { Array($0.children.values) } }

  // MARK: Its tasks

  /// Adds a task. A task that is added twice counts twice.
  ///
  /// - Parameters:
  ///   - task: The task, in any state.
  ///   - weight: The weight of the task's fraction among the others. Less than 0 counts as 0. Default: 1.
  public func add(_ task: HTTPTask, weight: Double = 1) {
    add(task.status, weight: weight, cancel: task.canceller)
  }

  /// Adds a tree. A tree without tasks does not count. Nothing happens if the tree is this one, or holds this one.
  ///
  /// - Parameters:
  ///   - tree: The tree. Tasks can be added to it before and afterwards.
  ///   - weight: The weight of the tree's fraction among the others. Less than 0 counts as 0. Default: 1.
  public func add(_ tree: HTTPProgressTree, weight: Double = 1) {
    let isAdded = Self.adding.withLock { _ -> Bool in
      if tree.holds(self) { return false }
      insert(.tree(tree), weight)
      return true
    }
    if isAdded { report() }
  }

  func add(_ status: TaskStatus, weight: Double, cancel: @escaping @Sendable () -> Void) {
    insert(.task(status, cancel: cancel), weight)
    report()
  }

  /// Adds one of the tasks for which there are places.
  func addToPlace(_ task: HTTPTask) {
    insert(.task(task.status, cancel: task.canceller), 1, intoPlace: true)
    report()
  }

  /// Takes note that one of the tasks for which there are places is over without having begun.
  func giveUpPlace() {
    state.withLock { state in
      state.places -= 1
      state.ended.add(HTTPProgress(), weight: 1, isOver: true)
    }
    report()
  }

  /// Cancels all tasks that are not over, and those of the trees. A cancelled ``HTTPDownload`` keeps the received bytes.
  public func cancel() {
    cancelPlaces()
    for child in children {
      switch child.source {
      case .task(_, let cancel): cancel()
      case .tree(let tree): tree.cancel()
      }
    }
  }

  /// Held while a tree is added, so that two threads cannot make a tree a part of itself.
  private static let adding = Lock(())

  private func holds(_ other: HTTPProgressTree) -> Bool {
    if self === other { return true }
    return children.contains { if case .tree(let tree) = $0.source { tree.holds(other) } else { false } }
  }

  private func insert(_ source: Source, _ weight: Double, intoPlace: Bool = false) {
    // A sum of weights is finite.
    let weight = weight > 0 ? min(weight, 1e100) : 0
    let number = state.withLock { state in
      state.last += 1
      state.places -= intoPlace ? 1 : 0
      state.children[state.last] = Child(source: source, weight: weight)
      return state.last
    }
    let subscriber = source.updates.subscribe(initial: false) { [weak self] in self?.changed(number) }
    state.withLock { $0.children[number]?.subscriber = subscriber }
  }

  // MARK: Its progress

  /// The current progress: the bytes of all bodies, and the mean of the fractions by their weights.
  public var progress: HTTPProgress { state.withLock { Self.sum(of: $0).progress } }

  /// Returns the current progress, and then each change. A slow reader gets the newest figures, and misses those in between.
  /// The sequence ends after the progress in which all tasks are over. Each reader reads independently of the others.
  ///
  /// A sequence of a tree without tasks waits for the first one.
  public func progressUpdates() -> Updates { Updates(tree: self) }

  /// Calls a closure with the current progress and with each change. At most one call waits for the executor at a time, and gets
  /// the newest figures when it runs.
  ///
  /// - Parameters:
  ///   - executor: The executor of the calls. Default: Swift's shared threads.
  ///   - body: The closure that gets the progress. When all tasks are over, its ``HTTPProgress/fraction`` is 1.
  /// - Returns: The subscription. `body` is called only while you hold it.
  public func onProgress(
    on executor: HTTPExecutor = .shared, _ body: @escaping @Sendable (HTTPProgress) -> Void
  ) -> CallbackSubscription {
    report()
    return broadcast.call(of: self, initial: true, enqueue: executor.run ?? { $0() }, body)
  }

  /// The progress of a tree, until all of its tasks are over.
  public struct Updates: AsyncSequence, Sendable {
    /// The type of the values.
    public typealias Element = HTTPProgress
    /// The sequence never fails.
    public typealias Failure = Never

    fileprivate let tree: HTTPProgressTree

    /// An iterator that reads the progress independently of others. It keeps the tree alive.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate var values: LatestValues<HTTPProgress, Never>.Iterator
      private var isOver = false

      fileprivate init(_ values: LatestValues<HTTPProgress, Never>) { self.values = values.makeAsyncIterator() }

      /// Waits for the next progress and returns it. Nil after the end, or if the task is cancelled.
      public mutating func next() async -> HTTPProgress? { await next(isolation: #isolation) }

      /// Waits for the next progress on the given actor and returns it. Nil after the end, or if the task is cancelled.
      ///
      /// - Parameter isolation: The actor on which the call waits. Nil for none.
      public mutating func next(isolation: isolated (any Actor)?) async -> HTTPProgress? {
        guard !isOver, let progress = await values.next(isolation: isolation) else { return nil }
        isOver = progress.fraction == 1
        return progress
      }
    }

    /// Returns an iterator that begins with the current progress.
    public func makeAsyncIterator() -> Iterator {
      tree.report()
      return Iterator(LatestValues(broadcast: tree.broadcast, owner: tree))
    }
  }

  private func changed(_ number: Int) {
    let (offer, rests) = state.withLock { state -> (Broadcast<HTTPProgress, Never>.Offer?, Bool) in
      guard let child = state.children[number] else { return (nil, false) }
      switch child.source {
      case .task(let status, _) where status.state == .finished:
        state.children[number] = nil
        state.ended.add(status.progress, weight: child.weight, isOver: true)
        return (stage(&state), false)
      case .task where state.isResting:
        state.hasNews = true
        return (nil, false)
      case .task:
        state.isResting = interval > .zero
        return (stage(&state), state.isResting)
      // A tree keeps an interval itself.
      case .tree: return (stage(&state), false)
      }
    }
    if rests { rest() }
    offer?.deliver()
  }

  /// Waits for the interval after a report, and reports what has changed meanwhile.
  private func rest() {
    Task { [weak self, interval, sleep] in
      await sleep(interval)
      self?.endRest()
    }
  }

  private func endRest() {
    let offer = state.withLock { state in
      state.isResting = state.hasNews
      return state.hasNews ? stage(&state) : nil
    }
    guard let offer else { return }
    rest()
    offer.deliver()
  }

  private func report() { state.withLock { stage(&$0) }.deliver() }

  private func stage(_ state: inout State) -> Broadcast<HTTPProgress, Never>.Offer {
    state.hasNews = false
    return broadcast.stage(Self.sum(of: state).progress)
  }

  private static func sum(of state: State) -> Sum {
    var sum = state.ended
    if state.places > 0 { sum.add(HTTPProgress(), weight: Double(state.places), isOver: false) }
    for child in state.children.values {
      switch child.source {
      case .task(let status, _):
        sum.add(status.progress, weight: child.weight, isOver: status.state == .finished)
      case .tree(let tree):
        let progress = tree.progress
        if let fraction = progress.fraction { sum.add(progress, weight: child.weight, isOver: fraction == 1) }
      }
    }
    return sum
  }

  /// Adds up what the children have done.
  private struct Sum: Sendable {
    private var bytes = HTTPProgress()
    private var weight = 0.0
    private var done = 0.0
    private var isEmpty = true
    private var isOver = true

    init() { (bytes.totalToSend, bytes.totalToReceive) = (0, 0) }

    mutating func add(_ progress: HTTPProgress, weight: Double, isOver: Bool) {
      // A request without a body has no length either. A task that is over has no more bytes than were counted.
      let toSend = isOver ? progress.sent : progress.totalToSend ?? (progress.sent == 0 ? 0 : nil)
      let toReceive = isOver ? progress.received : progress.totalToReceive
      bytes.sent = bytes.sent.saturatingSum(progress.sent)
      bytes.received = bytes.received.saturatingSum(progress.received)
      bytes.totalToSend = bytes.totalToSend.flatMap { total in toSend.map { total.saturatingSum($0) } }
      bytes.totalToReceive = bytes.totalToReceive.flatMap { total in toReceive.map { total.saturatingSum($0) } }
      self.weight += weight
      done += weight * (isOver ? 1 : progress.fraction ?? 0)
      isEmpty = false
      self.isOver = self.isOver && isOver
    }

    /// Only the end of all children makes the fraction 1.
    var progress: HTTPProgress {
      guard !isEmpty else { return HTTPProgress() }
      var progress = bytes
      progress.weighted = isOver ? 1 : weight > 0 ? min(done / weight, 1.0.nextDown) : 0
      return progress
    }
  }
}

extension Int64 {
  /// Returns the sum, or the largest number if the sum is larger.
  fileprivate func saturatingSum(_ other: Int64) -> Int64 {
    let (sum, hasOverflowed) = addingReportingOverflow(other)
    return hasOverflowed ? .max : sum
  }
}
