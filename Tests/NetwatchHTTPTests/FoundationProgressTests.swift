import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP
@testable import NetwatchHTTPFoundation

/// Tests of the `Progress` of tasks and trees. Foundation's own parents of them show what their owners see.
@Suite(.timeLimit(.minutes(5))) struct FoundationProgressTests {
  private static let main = HTTPExecutor(on: MainActor.shared)

  private static func progress(
    sent: Int64 = 0, of totalToSend: Int64? = nil, received: Int64 = 0, length totalToReceive: Int64? = nil
  ) -> HTTPProgress {
    var progress = HTTPProgress()
    (progress.sent, progress.totalToSend) = (sent, totalToSend)
    (progress.received, progress.totalToReceive) = (received, totalToReceive)
    return progress
  }

  @Test @MainActor func `it has the bytes of a task, is a part of its parent, and is finished with the task`()
    async throws
  {
    let gate = Gate()
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
      gate.pass()
      connection.write("cd")
      connection.waitForEnd()
    }
    defer { server.stop() }
    let session = try HTTPSessionManager(baseURL: server.url)
    let task = session.dataTask("x") { _ in }
    let whole = Progress(totalUnitCount: 2)
    let progress = task.foundationProgress(on: Self.main)
    whole.addChild(progress, withPendingUnitCount: 1)
    #expect(progress.isIndeterminate && !progress.isFinished && progress.isCancellable && progress.isPausable)
    #expect(progress.kind == .file)
    task.resume()
    try await eventually(progress.completedUnitCount) { $0 == 2 }
    #expect(progress.totalUnitCount == 4 && whole.fractionCompleted == 0.25)
    gate.open()
    try await eventually(progress.isFinished) { $0 }
    #expect(progress.completedUnitCount == 4 && progress.totalUnitCount == 4)
    #expect(whole.completedUnitCount == 1 && whole.fractionCompleted == 0.5)
  }

  @Test func `lengths that come late, go and change finish it neither early nor twice`() throws {
    let session = try HTTPSessionManager()
    let task = session.dataTask("http://example.org") { _ in }
    let whole = Progress(totalUnitCount: 1)
    // Each change is shown at once, on the thread that makes it.
    let progress = task.foundationProgress(on: .immediate, HTTPProgressTree(interval: .zero))
    whole.addChild(progress, withPendingUnitCount: 1)
    for (change, completed, total) in [
      (Self.progress(sent: 600), 600, -1), (Self.progress(sent: 0, of: 100), 0, 100),
      (Self.progress(sent: 100, of: 100), 99, 100),
      (Self.progress(sent: 100, of: 100, received: 0, length: 900), 100, 1_000),
      (Self.progress(sent: 0, of: 100), 0, 100), (Self.progress(received: 50), 50, 100),
      (Self.progress(received: 500), 99, 100), (Self.progress(received: 700, length: 800), 700, 800),
      (Self.progress(received: 10, length: 20), 10, 20), (Self.progress(received: 20, length: 20), 19, 20),
    ] as [(HTTPProgress, Int64, Int64)] {
      task.status.change(to: change)
      #expect(progress.completedUnitCount == completed && progress.totalUnitCount == total)
      #expect(!progress.isFinished && whole.completedUnitCount == 0)
      #expect(whole.fractionCompleted == max(0, Double(completed) / Double(total)))
    }
    task.status.end()
    #expect(progress.completedUnitCount == 20 && progress.isFinished)
    #expect(whole.completedUnitCount == 1 && whole.isFinished)
    task.status.change(to: Self.progress(received: 1, length: 2))
    #expect(progress.completedUnitCount == 20 && whole.fractionCompleted == 1)
  }

  @Test func `a task without a byte finishes it, also one that was over before`() throws {
    let session = try HTTPSessionManager()
    for isEarly in [false, true] {
      let task = session.dataTask("http://example.org") { _ in }
      if isEarly { task.status.end() }
      let progress = task.foundationProgress(on: .immediate, HTTPProgressTree(interval: .zero))
      #expect(progress.isFinished == isEarly)
      if !isEarly { task.status.end() }
      #expect(progress.isFinished && progress.fractionCompleted == 1)
      let whole = Progress(totalUnitCount: 4)
      whole.addChild(progress, withPendingUnitCount: 1)
      #expect(whole.completedUnitCount == 1)
    }
  }

  @Test @MainActor func `what its parent is told, its task does, in the same order`() async throws {
    let server = try ScriptedServer { connection, _ in while connection.readHead() != nil {} }
    defer { server.stop() }
    let session = try HTTPSessionManager(baseURL: server.url)
    let kinds = Box<[String]>([])
    let task = session.dataTask("x") { result in
      if case .failure(let error) = result { kinds.change { $0.append(error.kind.name) } }
    }
    let whole = Progress(totalUnitCount: 1)
    whole.addChild(task.foundationProgress(on: Self.main), withPendingUnitCount: 1)
    for _ in 0..<20 {
      whole.resume()
      whole.pause()
      whole.resume()
      try await eventually(task.state) { $0 == .running }
      whole.resume()
      whole.pause()
      try await eventually(task.state) { $0 == .suspended }
    }
    #expect(whole.isPaused)
    whole.cancel()
    try await eventually(kinds.now) { $0 == ["cancelled"] }
    try await eventually(whole.isFinished) { $0 }
  }

  @Test @MainActor func `a download is paused, and its bytes are kept when it is cancelled`() async throws {
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 4000\r\n\r\n")
      connection.write(Data(count: 1_000))
      connection.waitForEnd()
    }
    defer { server.stop() }
    let (session, folder) = (try HTTPSessionManager(baseURL: server.url), try TemporaryFolder())
    let download = session.resumableDownload("x", to: folder.url("x")) { _ in }
    let progress = download.foundationProgress(on: Self.main)
    progress.resume()
    try await eventually(progress.completedUnitCount) { $0 == 1_000 }
    #expect(progress.totalUnitCount == 4_000)
    progress.pause()
    #expect(download.state == .suspended)
    progress.cancel()
    try await eventually(progress.isFinished) { $0 }
    #expect(download.state == .finished && download.resumeData?.offset == 1_000)
  }

  @Test func `a tree has units of its own, and cancels its tasks`() throws {
    let tree = HTTPProgressTree(interval: .zero)
    let ends = Box<[Int]>([])
    let tasks = (0..<2).map { index in
      let status = TaskStatus()
      tree.add(status, weight: 1) { ends.change { $0.append(index) } }
      return status
    }
    let whole = Progress(totalUnitCount: 2)
    let progress = tree.foundationProgress(on: .immediate)
    whole.addChild(progress, withPendingUnitCount: 1)
    #expect(progress.totalUnitCount == 10_000 && progress.completedUnitCount == 0 && !progress.isPausable)
    tasks[0].change(to: Self.progress(received: 1, length: 2))
    #expect(progress.completedUnitCount == 2_500 && whole.fractionCompleted == 0.125)
    for task in tasks { task.change(to: Self.progress(received: 2, length: 2)) }
    #expect(progress.completedUnitCount == 9_999)
    whole.cancel()
    #expect(ends.now.sorted() == [0, 1])
    for task in tasks { task.end() }
    #expect(progress.isFinished && whole.completedUnitCount == 1)
  }

  @Test func `a progress that nobody holds goes`() throws {
    let tree = HTTPProgressTree(interval: .zero)
    let status = TaskStatus()
    tree.add(status, weight: 1) {}
    func make() -> Progress { tree.foundationProgress(on: .immediate) }
    weak let released = make()
    #expect(released == nil)
    status.change(to: Self.progress(received: 1, length: 2))
  }
}
