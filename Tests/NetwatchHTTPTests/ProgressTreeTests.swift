import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of the combined progress of several tasks. Most of them change the states of tasks that no session runs.
@Suite(.timeLimit(.minutes(5))) struct ProgressTreeTests {
  private static func progress(_ received: Int64, of total: Int64? = nil) -> HTTPProgress {
    var progress = HTTPProgress()
    (progress.received, progress.totalToReceive) = (received, total)
    return progress
  }

  /// Adds a new task to a tree.
  private static func task(in tree: HTTPProgressTree, weight: Double = 1) -> TaskStatus {
    let status = TaskStatus()
    tree.add(status, weight: weight) {}
    return status
  }

  /// Reads the progress of a tree to its end.
  private static func last(of tree: HTTPProgressTree) async -> HTTPProgress? {
    var last: HTTPProgress?
    for await progress in tree.progressUpdates() { last = progress }
    return last
  }

  @Test func `bytes are added up, and fractions are weighed`() {
    let tree = HTTPProgressTree()
    #expect(tree.progress == HTTPProgress() && tree.progress.fraction == nil)
    let (first, second) = (Self.task(in: tree), Self.task(in: tree, weight: 3))
    #expect(tree.progress.fraction == 0)
    first.change(to: Self.progress(50, of: 100))
    #expect(tree.progress.fraction == 0.125)
    #expect(tree.progress.received == 50 && tree.progress.totalToReceive == nil)
    second.change(to: Self.progress(100, of: 200))
    #expect(tree.progress.fraction == 0.5)
    #expect("\(tree.progress)" == "50 %, 150 B of 300 B received")
    second.change(to: Self.progress(100))
    #expect(tree.progress.fraction == 0.125)
  }

  @Test func `a request without a body does not hide how much the others send`() {
    let tree = HTTPProgressTree()
    let (upload, _) = (Self.task(in: tree), Self.task(in: tree))
    var progress = HTTPProgress()
    (progress.sent, progress.totalToSend) = (10, 40)
    upload.change(to: progress)
    #expect(tree.progress.sent == 10 && tree.progress.totalToSend == 40)
    progress.totalToSend = nil
    upload.change(to: progress)
    #expect(tree.progress.totalToSend == nil)
  }

  @Test func `only the end of all tasks makes a whole, with whatever they have brought`() {
    let tree = HTTPProgressTree()
    let (first, second) = (Self.task(in: tree), Self.task(in: tree))
    first.change(to: Self.progress(100, of: 100))
    second.change(to: Self.progress(100, of: 100))
    #expect(tree.progress.fraction == 1.0.nextDown)
    first.end()
    #expect(tree.progress.fraction == 1.0.nextDown)
    second.change(to: Self.progress(10, of: 100))
    #expect(tree.progress.fraction == 0.55)
    second.end()
    #expect(tree.progress.fraction == 1)
    #expect(tree.progress.received == 110 && tree.progress.totalToReceive == 110)
    let late = TaskStatus(.finished, Self.progress(5))
    tree.add(late, weight: 1) {}
    #expect(tree.progress.fraction == 1 && tree.progress.received == 115)
    _ = Self.task(in: tree)
    #expect(tree.progress.fraction == 0.75)
  }

  @Test func `odd weights and sizes lead to no odd fraction`() {
    for weight in [-1, 0, .nan, -.infinity, .infinity, .greatestFiniteMagnitude] as [Double] {
      let tree = HTTPProgressTree()
      let tasks = (0..<3).map { _ in Self.task(in: tree, weight: weight) }
      #expect(tree.progress.fraction == 0)
      for task in tasks { task.change(to: Self.progress(.max - 1, of: .max)) }
      #expect(tree.progress.received == .max && tree.progress.totalToReceive == .max)
      #expect(tree.progress.fraction.map { 0..<1 ~= $0 } == true)
      for task in tasks { task.end() }
      #expect(tree.progress.fraction == 1)
    }
  }

  @Test func `a tree in a tree counts as one task, unless it is empty`() {
    let (whole, part) = (HTTPProgressTree(), HTTPProgressTree())
    whole.add(part, weight: 3)
    #expect(whole.progress.fraction == nil)
    let alone = Self.task(in: whole)
    alone.change(to: Self.progress(1, of: 2))
    #expect(whole.progress.fraction == 0.5)
    let (first, second) = (Self.task(in: part), Self.task(in: part))
    #expect(whole.progress.fraction == 0.125)
    first.end()
    #expect(whole.progress.fraction == 0.5)
    second.end()
    alone.end()
    #expect(whole.progress.fraction == 1)
  }

  @Test func `a tree cannot become a part of itself`() {
    let trees = (0..<3).map { _ in HTTPProgressTree() }
    trees[0].add(trees[1])
    trees[1].add(trees[2])
    trees[2].add(trees[0])
    trees[0].add(trees[0])
    let task = Self.task(in: trees[2])
    task.change(to: Self.progress(1, of: 4))
    #expect(trees.map(\.progress.fraction) == [0.25, 0.25, 0.25])
    trees[0].cancel()
  }

  @Test func `reports keep their distance, the newest is not left out, and an end is reported at once`() async throws {
    let (calls, clock) = (Box<[Int64]>([]), ManualClock())
    let tree = HTTPProgressTree(
      .milliseconds(50), places: 0, cancelPlaces: {}, sleep: { try? await clock.sleep(for: $0) })
    let whole = HTTPProgressTree()
    whole.add(tree)
    let reports = Box<[Int64]>([])
    let task = Self.task(in: tree)
    let subscriptions = [
      tree.onProgress(on: .immediate) { progress in calls.change { $0.append(progress.received) } },
      whole.onProgress(on: .immediate) { progress in reports.change { $0.append(progress.received) } },
    ]
    for count in 1...9 { task.change(to: Self.progress(Int64(count))) }
    #expect(calls.now == [0, 1])
    try await eventually(clock.sleeperCount) { $0 == 1 }
    clock.advance(by: .milliseconds(50))
    try await eventually(calls.now) { $0 == [0, 1, 9] }
    task.change(to: Self.progress(10))
    #expect(calls.now == [0, 1, 9])
    #expect(tree.progress.received == 10)
    task.end()
    #expect(calls.now == [0, 1, 9, 10])
    // The last pause ends without a report.
    try await eventually(clock.sleeperCount) { $0 == 1 }
    clock.advance(by: .milliseconds(50))
    let next = Self.task(in: tree)
    try await eventually(clock.sleeperCount) { $0 == 0 }
    next.change(to: Self.progress(5))
    // The new task was a change of the fraction.
    try await eventually(calls.now) { $0 == [0, 1, 9, 10, 10, 15] }
    try await eventually(reports.now) { $0 == [0, 1, 9, 10, 10, 15] }
    subscriptions[0].cancel()
    next.end()
    #expect(calls.now.count == 6)
  }

  @Test func `the sequence of a tree ends with its last task, and begins again with another one`() async throws {
    let tree = HTTPProgressTree(interval: .zero)
    let reader = Task { await tree.progressUpdates().reduce(into: [Double?]()) { $0.append($1.fraction) } }
    let tasks = (0..<4).map { _ in Self.task(in: tree) }
    for task in tasks { task.end() }
    let fractions = await reader.value
    #expect(fractions.last == 1)
    #expect(fractions.dropLast().allSatisfy { $0 ?? 0 < 1 })
    #expect(await Self.last(of: tree)?.fraction == 1)
    let late = Self.task(in: tree)
    var again = tree.progressUpdates().makeAsyncIterator()
    #expect(await again.next(isolation: #isolation)?.fraction == 0.8)
    late.end()
    #expect(await again.next(isolation: #isolation)?.fraction == 1)
    #expect(await again.next(isolation: #isolation) == nil)
  }

  @Test func `a tree that nobody holds goes, though its tasks run`() {
    let status = TaskStatus()
    weak let released: HTTPProgressTree? = {
      let tree = HTTPProgressTree(interval: .zero)
      tree.add(status, weight: 1) {}
      status.change(to: Self.progress(1))
      return tree
    }()
    #expect(released == nil)
    status.change(to: Self.progress(2))
  }

  /// Changes tasks at random, and adds everything up anew after each change.
  @Test(arguments: UInt64(0)..<20) func `any order of changes gives what the tasks have`(seed: UInt64) {
    var random = SplitMix(seed: seed)
    let trees = (0..<4).map { _ in HTTPProgressTree() }
    for index in 1..<4 { trees[Int.random(in: 0..<index, using: &random)].add(trees[index]) }
    var received: [Int64] = []
    var running: [(index: Int, status: TaskStatus)] = []
    for _ in 0..<200 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let tree = trees[Int.random(in: 0..<4, using: &random)]
        running.append((received.count, Self.task(in: tree, weight: Double(Int.random(in: 0...3, using: &random)))))
        received.append(0)
      case 1 where running.count > 2: running.remove(at: Int.random(in: 0..<running.count, using: &random)).status.end()
      default:
        guard let task = running.randomElement(using: &random) else { continue }
        received[task.index] = Int64.random(in: 0...1_000, using: &random)
        task.status.change(to: Self.progress(received[task.index], of: random.oneIn(4) ? nil : 1_000))
      }
      #expect(trees[0].progress.received == received.reduce(0, +))
      #expect(trees[0].progress.fraction.map { 0..<1 ~= $0 } ?? received.isEmpty || running.isEmpty)
    }
    for task in running { task.status.end() }
    #expect(trees[0].progress.fraction == 1)
  }

  @Test func `tasks of several threads are all counted`() async throws {
    let tree = HTTPProgressTree(interval: .zero)
    let last = Box<HTTPProgress?>(nil)
    let subscription = tree.onProgress { progress in last.change { $0 = progress } }
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<50 {
            let task = Self.task(in: tree)
            for count in 1...20 { task.change(to: Self.progress(Int64(count), of: 20)) }
            task.end()
          }
        }
      }
    }
    #expect(tree.progress.received == 8 * 50 * 20 && tree.progress.fraction == 1)
    try await eventually(last.now) { $0 == tree.progress }
    subscription.cancel()
  }

  // MARK: Tasks of sessions

  /// Returns a session in which `/NUMBER` has this number of bytes.
  private static func session() throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.transport = ScriptedTransport { request, _ in
      let count = request.path.flatMap { Int($0.dropFirst()) }
      return count.map { HTTPTransportAnswer(body: Data(count: $0)) } ?? HTTPTransportAnswer(.notFound)
    }
    return try HTTPSessionManager(baseURL: URL(string: "http://example.org"), configuration: configuration)
  }

  @Test func `uploads and downloads make one progress`() async throws {
    let session = try Self.session()
    let tree = HTTPProgressTree()
    let tasks = [
      session.dataTask("1000") { _ in }, session.uploadTask("500", from: .data(Data(count: 100))) { _ in },
      session.dataTask("missing") { _ in },
    ]
    for task in tasks { tree.add(task) }
    #expect(tree.progress.fraction == 0)
    for task in tasks { task.resume() }
    let last = await Self.last(of: tree)
    #expect(last?.received == 1_500 && last?.totalToReceive == 1_500 && last?.fraction == 1)
    #expect(tasks.allSatisfy { $0.state == .finished })
  }

  @Test func `a tree holds no suspended task`() async throws {
    let session = try Self.session()
    let tree = HTTPProgressTree()
    tree.add(session.dataTask("1000") { _ in })
    #expect(await Self.last(of: tree)?.fraction == 1)
  }

  @Test func `a tree cancels its tasks, also those of its trees`() async throws {
    let session = try Self.session()
    let (whole, part) = (HTTPProgressTree(), HTTPProgressTree())
    whole.add(part)
    let kinds = Box<[String]>([])
    let tasks = [whole, part].map { tree in
      let task = session.dataTask("1000") { result in
        if case .failure(let error) = result { kinds.change { $0.append(error.kind.name) } }
      }
      tree.add(task)
      return task
    }
    whole.cancel()
    try await eventually(kinds.now) { $0 == ["cancelled", "cancelled"] }
    #expect(tasks.allSatisfy { $0.state == .finished })
  }

  @Test func `the tree of a batch has all of its requests`() async throws {
    let server = try GateServer(isOpen: false)
    let session = try HTTPSessionManager(baseURL: server.url)
    let ends = Box<[Int]>([])
    let batch = session.batch((0..<20).map { "\($0)" }, limit: 3) { results in
      ends.change { $0.append(results.count) }
    }
    let tree = batch.progressTree
    #expect(tree.progress.fraction == 0 && tree.progress.totalToReceive == nil)
    server.open()
    let last = await Self.last(of: tree)
    #expect(last?.received == 40 && last?.totalToReceive == 40)
    #expect(batch.progressTree === tree)
    try await eventually(ends.now) { $0 == [20] }
  }

  @Test func `the tree of a batch that is over, or that has no requests, is done`() async throws {
    let (session, ends) = (try Self.session(), Box<[Int]>([]))
    let full = session.batch(["1", "missing"]) { results in ends.change { $0.append(results.count) } }
    let empty = session.batch([]) { results in ends.change { $0.append(results.count) } }
    try await eventually(ends.now.sorted()) { $0 == [0, 2] }
    #expect(full.progressTree.progress.fraction == 1 && empty.progressTree.progress.fraction == 1)
  }

  @Test(arguments: [false, true])
  func `a batch ends with its tree, and the tree with the batch`(isTreeCancelled: Bool) async throws {
    let server = try GateServer(isOpen: false)
    let session = try HTTPSessionManager(baseURL: server.url)
    let ends = Box<[Int]>([])
    let batch = session.batch((0..<20).map { "\($0)" }, limit: 3) { results in
      ends.change { $0.append(results.count { (try? $0.get()) == nil }) }
    }
    let tree = batch.progressTree
    if isTreeCancelled { tree.cancel() } else { batch.cancel() }
    #expect(await Self.last(of: tree)?.fraction == 1)
    try await eventually(ends.now) { $0 == [20] }
  }
}
