import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Tests of `netwatch get --later` and `netwatch transfers`, with the program that carries the transfers out, and nginx.
@Suite(.timeLimit(.minutes(5))) struct TransferTests {
  private static let url = "http://127.0.0.1/"

  private let server: WebServer
  private let state: TemporaryFolder
  private var spool: String { state.file("netwatch/transfers/get") }

  /// Options for nginx that hold a download in its middle, also one that resumes, unless there is a file `go`.
  private static func gate(_ folder: TemporaryFolder) -> String {
    "limit_rate_after 1500k; limit_rate 1k; if (-f \(folder.file("go"))) { set $limit_rate 0; }"
  }

  init() throws {
    state = try TemporaryFolder()
    server = try WebServer(Self.gate(state))
    try server.serve("it", bytes: 6_000_000)
  }

  private var environment: [String] { ["XDG_STATE_HOME=\(state.path)", "XDG_RUNTIME_DIR="] }

  private func netwatch(_ arguments: String...) throws -> (ending: ChildProcess.Ending, output: [String], error: String)
  {
    try ChildProcess.run(server.command([Programs.netwatch] + arguments), environment: environment)
  }

  private func later(_ arguments: String...) throws {
    let result = try ChildProcess.run(
      server.command([Programs.netwatch, "get", "--later"] + arguments), environment: environment)
    try #require(result.ending == .exited(0), "\(result.error)")
  }

  /// The list, a dictionary for each transfer.
  private var list: [[String: String]] {
    get throws {
      try netwatch("transfers", "--json").output.map { line in
        keepLine(line, of: "transfers")
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
        return object.mapValues { "\($0)" }
      }
    }
  }

  private var states: [String] { get throws { try list.map { $0["state"] ?? "" } } }

  /// Lets nginx send all that it holds back from now on.
  private func go() throws { try state.write("", to: "go") }

  /// The process that carries the transfers out; nil if none has the lock, which a killed one has until its last thread has ended.
  private var worker: pid_t? {
    let file = unsafe open(state.file("netwatch/transfers/worker.lock"), O_RDWR | O_CLOEXEC)
    defer { close(file) }
    var lock = Glibc.flock()
    lock.l_type = Int16(F_WRLCK)
    guard unsafe fcntl(file, F_OFD_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK) else { return nil }
    return pid_t(state.text(of: "netwatch/transfers/worker.lock").trimmingCharacters(in: .newlines))
  }

  /// F_OFD_GETLK of fcntl(2).
  private let F_OFD_GETLK: Int32 = 36

  /// Kills the worker with SIGKILL.
  private func killWorker() throws {
    let worker = try eventually(self.worker) { $0 != nil }
    if let worker { kill(worker, SIGKILL) }
    try eventually(self.worker) { $0 == nil }
  }

  private func waitForPart() throws {
    try eventually(server.home.names) { names in
      names.contains { $0.hasSuffix(".netwatch-part") && server.home.size(of: $0) >= 1_000_000 }
    }
  }

  // MARK: Downloads

  @Test func `downloads come in the background, and the program that fetches them ends with them`() throws {
    try server.serve("other", bytes: 100_000)
    try go()
    try later("\(Self.url)it", "\(Self.url)other")
    try eventually(states) { $0 == ["done", "done"] }
    #expect(server.isSame("it", as: "it") && server.isSame("other", as: "other"))
    #expect(try server.home.names == ["it", "other"])
    try eventually(worker) { $0 == nil }
    #expect(try netwatch("transfers").output == ["1  it     done", "2  other  done"])
    #expect(try netwatch("transfers", "clear").ending == .exited(0))
    #expect(try netwatch("transfers").output == ["There are no transfers."])
    #expect(try FileManager.default.contentsOfDirectory(atPath: spool) == ["lock"])
  }

  @Test func `a worker that is killed loses nothing, and the next one requests only the rest`() throws {
    try later("\(Self.url)it")
    try waitForPart()
    try killWorker()
    #expect(try list.first?["reason"] == "waits for the program that carries it out")
    try go()
    #expect(try netwatch("transfers", "resume").ending == .exited(0))
    try eventually(states) { $0 == ["done"] }
    #expect(server.isSame("it", as: "it"))
    #expect(server.answers.map { $0.split(separator: " ")[2] }.contains("206"), "\(server.answers)")
  }

  @Test func `the service starts the worker for what is left`() throws {
    try later("\(Self.url)it")
    try waitForPart()
    try killWorker()
    try go()
    let service = try ChildProcess(
      server.command([Programs.netwatch, "serve", "--socket", state.file("socket")]), environment: environment)
    try eventually(states) { $0 == ["done"] }
    service.signal(SIGTERM)
    #expect(try service.wait() == .exited(0))
  }

  @Test func `the list shows how far a download is`() throws {
    try later("\(Self.url)it")
    let line = try eventually(netwatch("transfers").output.first ?? "") { $0.contains("MB of 6.0 MB") }
    #expect(try #/1  it  +2[0-9] % \[=+> *\]  +1\.[0-9] MB of 6\.0 MB +/#.wholeMatch(in: line) != nil, "\(line)")
    let entry = try #require(try list.first)
    #expect(entry["state"] == "running" && entry["total_to_receive"] == "6000000")
    try go()
    try killWorker()
  }

  @Test func `a paused download keeps what it has, and a cancelled one does not`() throws {
    try later("\(Self.url)it")
    try waitForPart()
    #expect(try netwatch("transfers", "pause").ending == .exited(0))
    try eventually(states) { $0 == ["paused"] }
    // With nothing else to do, the worker ends.
    try eventually(worker) { $0 == nil }
    #expect(try !server.home.names.isEmpty)
    #expect(try netwatch("transfers", "resume", "1").ending == .exited(0))
    try eventually(states) { $0 == ["running"] }
    #expect(try netwatch("transfers", "cancel", "1").ending == .exited(0))
    try eventually(states) { $0 == ["cancelled"] }
    #expect(try server.home.names.isEmpty)
    try eventually(worker) { $0 == nil }
  }

  @Test func `a server that restarts is asked again, and a file that has changed begins anew`() throws {
    try later("\(Self.url)it")
    try waitForPart()
    try server.kill()
    try server.serve("it", bytes: 5_000_000)
    try go()
    try server.start()
    try eventually(states) { $0 == ["done"] }
    #expect(server.isSame("it", as: "it"))
    #expect(try server.home.names == ["it"])
  }

  // MARK: Failures

  @Test func `a failure says why in the list`() throws {
    try later("\(Self.url)missing")
    try eventually(states) { $0 == ["failed"] }
    #expect(try netwatch("transfers").output == ["1  missing  failed: the server answers 404 Not Found"])
  }

  @Test func `a file that is there stays, and is told at once`() throws {
    try "mine".write(toFile: server.home.file("it"), atomically: true, encoding: .utf8)
    let result = try netwatch("get", "--later", "\(Self.url)it", "-o", server.home.file("it"))
    #expect(result.ending == .exited(1))
    #expect(
      result.error.hasSuffix("it is there already; --force replaces it, and --output names another"), "\(result.error)")
    #expect(try list.isEmpty)
  }

  @Test func `a file that comes into its place stays, and so does what has arrived`() throws {
    try later("\(Self.url)it")
    try waitForPart()
    try "mine".write(toFile: server.home.file("it"), atomically: true, encoding: .utf8)
    try go()
    try killWorker()
    _ = try netwatch("transfers", "resume")
    try eventually(states) { $0 == ["failed"] }
    #expect(try String(contentsOfFile: server.home.file("it"), encoding: .utf8) == "mine")
  }

  @Test func `what makes no sense for a transfer is said`() throws {
    try go()
    try later("\(Self.url)it")
    try eventually(states) { $0 == ["done"] }
    for action in ["pause", "resume", "cancel"] {
      let result = try netwatch("transfers", action, "1")
      #expect(result.ending == .exited(1) && result.error == "netwatch: transfer 1 has ended", "\(result.error)")
    }
    #expect(try netwatch("transfers", "clear", "1").ending == .exited(0))
  }

  @Test func `a folder that is gone fails with a sentence`() throws {
    try server.home.makeFolder("there")
    try later("\(Self.url)it", "-o", "there/it")
    try waitForPartIn("there")
    try killWorker()
    try FileManager.default.removeItem(atPath: server.home.file("there"))
    _ = try netwatch("transfers", "resume")
    try eventually(states) { $0 == ["failed"] }
    #expect(try list.first?["reason"]?.contains("No such file or directory") == true)
  }

  private func waitForPartIn(_ folder: String) throws {
    try eventually((try? FileManager.default.contentsOfDirectory(atPath: server.home.file(folder))) ?? []) {
      !$0.isEmpty
    }
  }

  @Test func `a full disk waits, and says so`() throws {
    try go()
    let folder = server.home.path
    let script =
      "mount -t tmpfs -o size=1m tmpfs '\(folder)' && exec \(Programs.netwatch) get --later \(Self.url)it -o '\(folder)/it'"
    let result = try ChildProcess.run(
      server.network.command(["unshare", "--mount", "sh", "-c", script]), environment: environment)
    #expect(result.ending == .exited(0), "\(result.error)")
    try eventually(list.first?["reason"] ?? "") { $0 == "tries again: no room is left for \(folder)/it" }
    let worker = try #require(worker)
    try server.network.run(
      "nsenter --target \(worker) --mount mount -o remount,size=20m '\(folder)'")
    _ = try netwatch("transfers", "pause")
    _ = try netwatch("transfers", "resume")
    try eventually(states) { $0 == ["done"] }
  }

  @Test func `a damaged entry is told and left alone, and one of a newer netwatch is not touched`() throws {
    try go()
    try later("\(Self.url)it")
    try eventually(states) { $0 == ["done"] }
    try state.write("{", to: "netwatch/transfers/get/7-0123abcd.json")
    try state.write("{\"version\": 99}", to: "netwatch/transfers/get/8-0123abcd.json")
    let result = try netwatch("transfers")
    #expect(result.error == "netwatch: '\(spool)/7-0123abcd.json' is damaged, and left alone")
    #expect(result.output == ["1  it  done"])
    try later("\(Self.url)it", "--force")
    try eventually(states) { $0 == ["done", "done"] }
    #expect(state.text(of: "netwatch/transfers/get/7-0123abcd.json") == "{")
    #expect(try list.last?["id"]?.hasPrefix("9-") == true)
  }

  @Test func `a spool that others could write is told, and nothing of it is lost`() throws {
    try later("\(Self.url)it")
    try waitForPart()
    let id = try #require(try list.first?["id"])
    let record = state.text(of: "netwatch/transfers/get/\(id).json")
    try server.serve("two", bytes: 6_000_000)
    _ = unsafe chmod(spool, 0o777)
    // The worker finds this one after it has looked at the spools again.
    let other = state.file("netwatch/transfers/other")
    try FileManager.default.createDirectory(
      atPath: other, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    try state.write(record.replacing("/it\"", with: "/two\""), to: "netwatch/transfers/other/\(id).json")
    _ = unsafe chmod("\(other)/\(id).json", 0o600)
    let result = try netwatch("transfers")
    #expect(result.ending == .exited(1))
    #expect(result.error.hasPrefix("netwatch: the transfers of 'get' are left alone: "), "\(result.error)")
    try eventually(states) { $0 == ["running"] }
    _ = unsafe chmod(spool, 0o700)
    try eventually(states) { $0 == ["running", "running"] }
    #expect(server.answers.isEmpty, "it was broken off")
    try killWorker()
  }

  @Test func `new transfers are found although the kernel watches nothing more for the user`() throws {
    try server.serve("other", bytes: 6_000_000)
    // The limit is one of a user namespace.
    let limited = "echo 0 >/proc/sys/user/max_inotify_instances && exec \(Programs.netwatch)"
    let result = try ChildProcess.run(
      server.command([
        "unshare", "--user", "--map-root-user", "sh", "-c",
        "\(limited) get --later \(Self.url)it",
      ]), environment: environment)
    try #require(result.ending == .exited(0), "\(result.error)")
    let worker = try #require(self.worker)
    try later("\(Self.url)other")
    try eventually(states) { $0.last == "running" }
    #expect(self.worker == worker)
    try killWorker()
  }

  @Test func `without any transfer, a worker that waits for others has nothing to do`() throws {
    let result = try ChildProcess.run(["\(Programs.folder)/netwatch-http", "work", "--wait"], environment: environment)
    #expect(result.ending == .exited(0))
    #expect(result.error == "")
  }

  // MARK: Secrets

  @Test func `a secret is refused, and a command brings it`() throws {
    for arguments in [["-H", "Authorization: Basic eA=="], ["-H", "Cookie: a=b"]] {
      let result = try ChildProcess.run(
        server.command([Programs.netwatch, "get", "--later", "\(Self.url)it"] + arguments), environment: environment)
      #expect(result.ending == .exited(64))
      #expect(result.error.contains("would be stored; give the user and the password by --credential-command."))
    }
    let inURL = try netwatch("get", "--later", "http://ali:secret@127.0.0.1/it")
    #expect(inURL.ending == .exited(64) && !inURL.error.contains("secret"))
    try go()
    let helper = try state.write("#!/bin/sh\necho username=ali\necho 'password=open sesame'\n", to: "helper").path
    _ = unsafe chmod(helper, 0o700)
    try later("\(Self.url)private/it", "--credential-command", helper)
    try eventually(states) { $0 == ["done"] }
    #expect(server.isSame("it", as: "it"))
    let stored = try #require(try list.first?["id"]).appending(".json")
    #expect(!state.text(of: "netwatch/transfers/get/\(stored)").contains("sesame"))
  }

  // MARK: Wrong usage

  @Test(
    arguments: [
      (["get", "http://a/b", "http://a/c"], "get downloads one file at a time; add --later"),
      (["get", "--on-power", "http://a/b"], "--for, --on-power and --credential-command need --later."),
      (["get", "--later", "-o", "-", "http://a/b"], "--later needs a file"),
      (["get", "--later", "-o", "x", "http://a/b", "http://a/c"], "--output names one file"),
      (["get", "--later", "--retry", "2", "http://a/b"], "--later tries again by itself"),
      (["transfers", "cancel"], "Name the transfers to cancel by their numbers."),
      (["transfers", "stop"], "'stop'"), (["transfers", "pause", "--json"], "--json belongs to the list"),
    ])
  func `a mistake gets a sentence`(_ arguments: [String], _ sentence: String) throws {
    let result = try ChildProcess.run(
      server.command([Programs.netwatch] + arguments), environment: environment)
    #expect(result.ending == .exited(64))
    #expect(result.error.contains(sentence), "\(result.error)")
  }

  @Test func `a number that is not there is an error`() throws {
    let result = try netwatch("transfers", "pause", "5")
    #expect(result.ending == .exited(1))
    #expect(result.error == "netwatch: there is no transfer '5'; netwatch transfers lists them")
  }
}
