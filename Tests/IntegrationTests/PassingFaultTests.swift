import Glibc
import NetwatchTestSupport
import Testing

/// Faults that pass: a service has no room, or a process has no descriptor left. netwatch continues when the fault is
/// over.
@Suite struct PassingFaultTests {
  /// Sets the number of descriptors that a process may have. The limit holds when this method returns.
  private func limitDescriptors(of process: ChildProcess, to count: Int) throws {
    let result = try ChildProcess.run(["prlimit", "--pid", "\(process.pid)", "--nofile=\(count):"])
    guard result.ending == .exited(0) else { throw TestFailure(result.error) }
  }

  private func newRequest(_ environment: [String]) throws -> ChildProcess {
    let child = try ChildProcess(
      [Programs.netwatch, "run", "--", "sh", "-c", "echo ready; read -r line"], environment: environment)
    #expect(try child.nextLine() == "ready")
    return child
  }

  // MARK: A service without room

  @Test func `a full backlog: a follower and a command find the service when there is room`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("s")
    let door = try ListeningPath(path)
    // No program accepts connections, so the backlog fills up.
    var crowd: [CInt] = []
    while true {
      let client = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
      crowd.append(client)
      if unsafe UnixAddress.with(path, { unsafe connect(client, $0, $1) }) != 0 { break }
      try #require(crowd.count < 1_000)
    }
    #expect(errno == EAGAIN)
    let environment = ["NETWATCH_SOCKET=\(path)"]
    let follow = try Follow(ChildProcess([Programs.netwatch, "-f", "--json"], environment: environment))
    _ = try follow.next()
    let request = try newRequest(environment)
    // The follower and the command have tried several times.
    for process in [follow.process, request] { try process.waitUntilAsleep(forSeconds: 0.2) }
    for client in crowd { close(client) }
    let service = try ChildProcess(
      ["sh", "-c", "export LISTEN_PID=$$; exec \"$0\" serve", Programs.netwatch], environment: ["LISTEN_FDS=1"],
      descriptors: [door.descriptor])
    while try follow.next().inFlight != 1 {}
    request.write("\n")
    #expect(try request.wait() == .exited(0))
    while try follow.next().inFlight != 0 {}
    service.signal(SIGTERM)
    #expect(try service.wait() == .exited(0))
  }

  @Test func `too many connections: a follower and a command find the service when there is room`() throws {
    let service = try RunningService("--connections", "2")
    let first = try service.onlyClient()
    let second = try service.onlyClient()
    let follow = try service.follow()
    _ = try follow.next()
    let request = try newRequest(service.environment)
    // The follower and the command have tried several times.
    for process in [follow.process, request] { try process.waitUntilAsleep(forSeconds: 0.2) }
    first.close()
    second.close()
    while try follow.next().inFlight != 1 {}
    request.write("\n")
    #expect(try request.wait() == .exited(0))
  }

  @Test func `a service that greets and closes is asked less and less often`() throws {
    let folder = try TemporaryFolder()
    let service = try RunningService()
    let greeting = try #require(try service.client().nextLine()) + "\n"
    let door = try ListeningPath(folder.file("s"))
    let follower = try service.namespace.netwatch("-f", "--json", environment: ["NETWATCH_SOCKET=\(folder.file("s"))"])
    var times: [Int] = []
    for _ in 0..<6 {
      let client = accept(door.descriptor, nil, nil)
      times.append(Line.monotonicNow)
      var text = greeting
      text.withUTF8 { bytes in _ = unsafe send(client, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL)) }
      close(client)
    }
    // The pauses are 50, 100, 200, 400 and 800 ms, each of them shortened by at most a half.
    #expect(times[5] - times[0] >= 750_000_000)
    #expect(times[5] - times[4] >= 400_000_000)
    withExtendedLifetime(follower) {}
  }

  // MARK: A process without a descriptor

  @Test func `a follower that has none when its service goes and comes finds it later`() throws {
    let service = try RunningService()
    let follow = try service.follow()
    _ = try follow.next()
    try limitDescriptors(of: follow.process, to: 3)
    try service.kill()
    try service.restart()
    let request = try newRequest(service.environment)
    while try service.inFlight() != 1 {}
    try limitDescriptors(of: follow.process, to: 256)
    while try follow.next().inFlight != 1 {}
    request.write("\n")
    while try follow.next().inFlight != 0 {}
  }

  @Test func `a follower that has none when its service goes for good reads netlink later`() throws {
    let service = try RunningService()
    let follow = try service.follow()
    _ = try follow.next()
    try limitDescriptors(of: follow.process, to: 3)
    try service.kill()
    try service.namespace.run("ip link set v1 down")
    try limitDescriptors(of: follow.process, to: 256)
    while try follow.next().status != "not-reachable" {}
  }

  @Test func `a follower that has read netlink before its service came reads it later, too`() throws {
    let service = try RunningService()
    try service.kill()
    let follow = try service.follow()
    _ = try follow.next()
    try service.restart()
    let request = try newRequest(service.environment)
    while try follow.next().inFlight != 1 {}
    try limitDescriptors(of: follow.process, to: 3)
    try service.kill()
    try service.namespace.run("ip link set v1 down")
    try limitDescriptors(of: follow.process, to: 256)
    while try follow.next().status != "not-reachable" {}
    withExtendedLifetime(request) {}
  }

  @Test func `a service that has none when traffic is asked for counts later`() throws {
    let service = try RunningService()
    let client = try service.client()
    _ = try client.next()
    try limitDescriptors(of: service.process, to: 3)
    client.send("{\"traffic\":0.1}")
    try client.ping()
    try limitDescriptors(of: service.process, to: 256)
    while try client.next().event != "traffic" {}
  }

  @Test func `a service that has none, and no spare one, does not spin, and accepts later`() throws {
    let service = try RunningService()
    try limitDescriptors(of: service.process, to: 3)
    let client = try service.client()
    try service.process.waitUntilAsleep(forSeconds: 0.2)
    try limitDescriptors(of: service.process, to: 256)
    #expect(try client.next().event == "initial")
  }

  @Test func `a service without a descriptor feeds the watchdog`() throws {
    let folder = try TemporaryFolder()
    let manager = try ListeningPath(folder.file("notify"), datagrams: true)
    let service = try ChildProcess(
      [Programs.netwatch, "serve", "--socket", folder.file("s")],
      environment: ["NOTIFY_SOCKET=\(folder.file("notify"))", "WATCHDOG_USEC=200000"])
    #expect(try manager.nextState() == "READY=1")
    try limitDescriptors(of: service, to: 3)
    for _ in 0..<5 { #expect(try manager.next() == "WATCHDOG=1") }
    service.signal(SIGTERM)
    #expect(try manager.nextState() == "STOPPING=1")
  }
}
