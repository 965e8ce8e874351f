import Glibc
import NetwatchTestSupport
import Testing

/// `netwatch serve` under a service manager, whose part the test plays: it passes sockets, and receives the readiness
/// and the signs of life.
@Suite struct ServiceManagerTests {
  /// A command that becomes the service. LISTEN_PID names the process that the sockets are meant for, so the shell sets
  /// it.
  private static let handOver = ["sh", "-c", "export LISTEN_PID=$$; exec \"$0\" serve", Programs.netwatch]

  @Test(arguments: [true, false])
  func `a client that connected before the service started is served`(isAbstract: Bool) throws {
    let folder = try TemporaryFolder()
    let door = try ListeningPath(folder.file("s"))
    let notifyPath = isAbstract ? "@\(folder.path)/notify" : folder.file("notify")
    let manager = try ListeningPath(notifyPath, datagrams: true)
    let first = try ServiceClient(folder.file("s"))
    first.send("{\"ping\":1}")

    let service = try ChildProcess(
      Self.handOver, environment: ["LISTEN_FDS=1", "LISTEN_FDNAMES=a", "NOTIFY_SOCKET=\(notifyPath)"],
      descriptors: [door.descriptor])
    #expect(try manager.next() == "READY=1")
    #expect(try first.next().event == "initial")
    #expect(try first.answer() == "{\"v\":1,\"pong\":1}")

    service.signal(SIGHUP)
    let reloading = try manager.next()
    #expect(try /RELOADING=1\nMONOTONIC_USEC=[0-9]+/.wholeMatch(in: reloading) != nil, "\(reloading)")
    #expect(try manager.next() == "READY=1")
    try first.ping()

    service.signal(SIGTERM)
    #expect(try manager.next() == "STOPPING=1")
    #expect(try service.wait() == .exited(0))
    // The socket belongs to the manager, so the service leaves it there.
    #expect(try folder.names == (isAbstract ? ["s"] : ["notify", "s"]))
    // A client that connects now is served by the next service.
    let second = try ServiceClient(folder.file("s"))
    let next = try ChildProcess(Self.handOver, environment: ["LISTEN_FDS=1"], descriptors: [door.descriptor])
    #expect(try second.next().event == "initial")
    next.signal(SIGTERM)
    #expect(try next.wait() == .exited(0))
  }

  @Test func `a follower changes over to a service that the manager starts`() throws {
    let folder = try TemporaryFolder()
    let follow = try Follow(
      ChildProcess([Programs.netwatch, "-f", "--json"], environment: ["NETWATCH_SOCKET=\(folder.file("s"))"]))
    _ = try follow.next()
    let door = try ListeningPath(folder.file("s"))
    let service = try ChildProcess(Self.handOver, environment: ["LISTEN_FDS=1"], descriptors: [door.descriptor])
    let client = try ServiceClient(folder.file("s"))
    client.send("{\"begin\":\"a\"}")
    var line = try follow.next()
    while line.inFlight != 1 { line = try follow.next() }
    service.signal(SIGKILL)
    _ = try service.wait()
    while line.reason != "service_lost" { line = try follow.next() }
  }

  @Test func `the watchdog is fed`() throws {
    let folder = try TemporaryFolder()
    let manager = try ListeningPath(folder.file("notify"), datagrams: true)
    let service = try ChildProcess(
      [Programs.netwatch, "serve", "--socket", folder.file("s")],
      environment: ["NOTIFY_SOCKET=\(folder.file("notify"))", "WATCHDOG_USEC=100000"])
    #expect(try manager.nextState() == "READY=1")
    for _ in 0..<5 { #expect(try manager.next() == "WATCHDOG=1") }
    service.signal(SIGTERM)
    #expect(try manager.nextState() == "STOPPING=1")
    #expect(try service.wait() == .exited(0))
  }

  @Test func `a follower feeds the watchdog of its unit, or of a program that has started it`() throws {
    let folder = try TemporaryFolder()
    let manager = try ListeningPath(folder.file("notify"), datagrams: true)
    let follow = try Follow(
      ChildProcess(
        [Programs.netwatch, "-f", "--json"],
        environment: ["NOTIFY_SOCKET=\(folder.file("notify"))", "WATCHDOG_USEC=100000"]))
    _ = try follow.next()
    for _ in 0..<5 { #expect(try manager.next() == "WATCHDOG=1") }
  }

  @Test(arguments: [
    ["LISTEN_PID=1", "LISTEN_FDS=1"], ["LISTEN_FDS=1"], ["WATCHDOG_PID=1", "WATCHDOG_USEC=1"],
    ["NOTIFY_SOCKET=relative"],
    ["NOTIFY_SOCKET=/nonexistent/notify", "WATCHDOG_USEC=garbage"], ["NOTIFY_SOCKET=", "LISTEN_PID=", "LISTEN_FDS="],
    ["NOTIFY_SOCKET=@", "WATCHDOG_USEC=-5"],
  ])
  func `variables for another process, or without sense, are ignored`(environment: [String]) throws {
    let folder = try TemporaryFolder()
    let service = try ChildProcess(
      [Programs.netwatch, "serve", "--socket", folder.file("s")], environment: environment)
    let client = try ServiceClient(folder.file("s"))
    #expect(try client.next().event == "initial")
    // If the service fed a watchdog, it would have a timer.
    try service.waitUntilIdle()
    service.signal(SIGTERM)
    #expect(try service.wait() == .exited(0))
    #expect(try folder.names == [])
  }

  @Test(arguments: ["9223372036854775807", "18446744073709551615", "99999999999999999999"])
  func `a watchdog with a huge interval does not disturb the service`(microseconds: String) throws {
    let folder = try TemporaryFolder()
    let manager = try ListeningPath(folder.file("notify"), datagrams: true)
    let service = try ChildProcess(
      [Programs.netwatch, "serve", "--socket", folder.file("s")],
      environment: ["NOTIFY_SOCKET=\(folder.file("notify"))", "WATCHDOG_USEC=\(microseconds)"])
    #expect(try manager.nextState() == "READY=1")
    service.signal(SIGTERM)
    #expect(try manager.nextState() == "STOPPING=1")
    #expect(try service.wait() == .exited(0))
  }

  @Test func `a manager that does not listen does not stop the service`() throws {
    let folder = try TemporaryFolder()
    let manager = try ListeningPath(folder.file("notify"), datagrams: true)
    let service = try ChildProcess(
      [Programs.netwatch, "serve", "--socket", folder.file("s")],
      environment: ["NOTIFY_SOCKET=\(folder.file("notify"))", "WATCHDOG_USEC=2000"])
    #expect(try manager.nextState() == "READY=1")
    let client = try ServiceClient(folder.file("s"))
    _ = try client.next()
    // The queue of the manager's socket is full after some dozens of messages.
    try eventually(manager.isFull) { $0 }
    for _ in 0..<2 { try client.ping() }
    service.signal(SIGTERM)
    #expect(try service.wait() == .exited(0))
  }

  @Test func `wrong sockets are refused with a hint`() throws {
    let folder = try TemporaryFolder()
    let door = try ListeningPath(folder.file("s"))
    let datagrams = try ListeningPath(folder.file("d"), datagrams: true)
    for (descriptors, hint) in [
      ([door.descriptor, datagrams.descriptor], "one ListenStream="),
      ([datagrams.descriptor], "no listening Unix socket"),
    ] {
      let service = try ChildProcess(
        Self.handOver, environment: ["LISTEN_FDS=\(descriptors.count)"], descriptors: descriptors)
      #expect(try service.wait() == .exited(2))
      #expect(try service.errorText().contains(hint))
    }
  }
}
