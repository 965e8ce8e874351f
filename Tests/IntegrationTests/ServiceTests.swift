import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// `netwatch serve` as its clients and its administrator see it.
@Suite struct ServiceTests {
  // MARK: Clients

  @Test func `the state comes at once, then each change`() throws {
    let service = try RunningService()
    let client = try service.client()
    #expect(try client.next().summary == "wifi initial v0")
    try service.namespace.run("ip link set v1 down")
    #expect(try client.next().summary == "not-reachable no_carrier -")
    let late = try service.client()
    let first = try late.next()
    #expect(first.event == "initial")
    #expect(first.summary == "not-reachable no_carrier -")
    try service.namespace.run("ip link set v1 up")
    #expect(try client.next().summary == "wifi route_up v0")
    #expect(try late.next().summary == "wifi route_up v0")
  }

  @Test func `metrics, with the service's counters and without`() throws {
    let service = try RunningService("--activity", "requests,tcp,udp")
    let client = try service.client()
    _ = try client.next()
    client.send("{\"begin\":\"a\"}")
    _ = try client.next()
    let command = service.namespace.command([Programs.netwatch, "status", "--prometheus"])
    let served = try ChildProcess.run(command, environment: ["NETWATCH_SOCKET=\(service.socket)"])
    #expect(served.ending == .exited(0))
    for line in [
      "# TYPE netwatch_reachable gauge", "netwatch_reachable 1", "netwatch_status{medium=\"virtual\"} 1",
      "netwatch_status{medium=\"wifi\"} 0", "netwatch_in_flight 1",
      "netwatch_in_flight_requests{kind=\"requests\"} 1", "netwatch_in_flight_requests{kind=\"tcp\"} 0",
      "netwatch_in_flight_requests{kind=\"udp\"} 0", "# TYPE netwatch_transitions_total counter",
      "netwatch_transitions_total 1", "netwatch_netlink_overruns_total 0",
    ] { #expect(served.output.contains(line), "\(line)") }
    let alone = try ChildProcess.run(command)
    // Without a service, nobody counts TCP connections and UDP flows.
    #expect(alone.output.count { $0.hasPrefix("netwatch_in_flight_requests{") } == 1)
    #expect(alone.output.contains("netwatch_reachable 1"))
    // The kernel counts the bytes of the link. Only a service runs long enough to count the rest.
    #expect(!alone.output.contains { $0.contains("_total") && !$0.contains("_bytes_total") })
    // A client in another network does not use the counters of this service.
    let elsewhere = try ChildProcess.run(
      service.namespace.command(["unshare", "--net", Programs.netwatch, "status", "--prometheus"]),
      environment: service.environment)
    #expect(elsewhere.output.contains("netwatch_reachable 0"))
    #expect(!elsewhere.output.contains { $0.contains("_total") })
  }

  @Test func `one look after a minute misses no outage, however short`() throws {
    let service = try RunningService()
    let client = try service.client()
    _ = try client.next()
    func metrics() throws -> [String: Double] {
      let command = service.namespace.command([Programs.netwatch, "status", "--prometheus"])
      let lines = try ChildProcess.run(command, environment: service.environment).output
      return Dictionary(
        lines.filter { !$0.hasPrefix("#") }.compactMap { line in
          let parts = line.split(separator: " ")
          return parts.count == 2 ? Double(parts[1]).map { (String(parts[0]), $0) } : nil
        }, uniquingKeysWith: { $1 })
    }
    func outages(_ reason: String) -> String { "netwatch_outages_total{reason=\"\(reason)\"}" }
    // Each reason is there before its first outage, because a counter that begins with 1 does not show a rise.
    let before = try metrics()
    for reason in ["no_carrier", "link_down", "no_route", "no_address", "dormant"] {
      #expect(before[outages(reason)] == 0, "\(reason)")
    }
    #expect(before["netwatch_outage_seconds_total"] == 0)
    for _ in 1...3 {
      try service.namespace.run("ip link set v1 down")
      while try client.next().reason != "no_carrier" {}
      try service.namespace.run("sleep 0.05", "ip link set v1 up")
      while try client.next().reason != "route_up" {}
    }
    try service.namespace.run("ip link set v0 down")
    while try client.next().reason != "link_down" {}
    let after = try metrics()
    #expect(after[outages("no_carrier")] == 3)
    #expect(after[outages("link_down")] == 1)
    #expect(after["netwatch_transitions_total"] == 8)
    let seconds = try #require(after["netwatch_outage_seconds_total"])
    #expect(seconds >= 0.15)
    // The present reason, since when, and that the writer lives.
    #expect(after["netwatch_unreachable_reason{reason=\"link_down\"}"] == 1)
    #expect(after["netwatch_unreachable_reason{reason=\"no_carrier\"}"] == 0)
    #expect(before["netwatch_unreachable_reason{reason=\"link_down\"}"] == 0)
    #expect(after.first { $0.key.hasPrefix("netwatch_build_info{version=\"") }?.value == 1)
    let (written, changed) = (
      after["netwatch_sample_timestamp_seconds"], after["netwatch_last_change_timestamp_seconds"]
    )
    let (start, now) = (try #require(before["netwatch_last_change_timestamp_seconds"]), Date.now.timeIntervalSince1970)
    #expect(try now - 60...now ~= #require(written))
    #expect(try start + 0.15...#require(written) ~= #require(changed))
    // An outage that has not ended also counts.
    let later = try #require(try metrics()["netwatch_outage_seconds_total"])
    #expect(later > seconds)
  }

  @Test func `questions are answered`() throws {
    let service = try RunningService()
    let client = try service.client()
    let other = try service.client()
    _ = (try client.next(), try other.next())
    client.send("{\"ping\":1}")
    #expect(try client.nextLine() == "{\"v\":1,\"pong\":1}")
    client.send(" { \"stats\" : 1 } \r")
    // The first state is the first transition.
    let first = try #require(try client.nextLine())
    #expect(
      first.hasPrefix(
        #"{"v":1,"stats":{"transitions":1,"netlink_overruns":0,"subscribers":2,"requests":0,"labels":[],"outages":{},"outage_ms":0,"last_change_ms":"#
      ))
    other.send("{\"events\":false}")
    try other.ping()
    try service.namespace.run("ip link set v1 down")
    #expect(try client.next().status == "not-reachable")
    client.send("{\"stats\":1}")
    let answer = try #require(try client.nextLine())
    let counts =
      #"{"v":1,"stats":{"transitions":2,"netlink_overruns":0,"subscribers":1,"requests":0,"labels":[],"outages":{"no_carrier":1},"outage_ms":"#
    #expect(answer.hasPrefix(counts), "\(answer)")
    // This client gets no line about the change: the pong comes next.
    other.send("{\"ping\":1}")
    #expect(try other.nextLine() == "{\"v\":1,\"pong\":1}")
  }

  @Test func `a request begins, shows, ends, and is hidden`() throws {
    let service = try RunningService()
    let watcher = try service.client()
    _ = try watcher.next()
    let client = try service.client()
    client.send("{\"begin\":\"a\",\"label\":\"a label\"}")
    var line = try watcher.next()
    #expect("\(line.reason ?? "") \(line.state ?? "") \(line.inFlight ?? -1)" == "request_began delaying-start 1")
    line = try watcher.next()
    #expect("\(line.reason ?? "") \(line.state ?? "") \(line.inFlight ?? -1)" == "activation_delay active 1")
    #expect(line.isVisible == true)
    // A second `begin` with the same id is no other request.
    client.send("{\"begin\":\"a\"}")
    client.send("{\"end\":\"a\"}")
    line = try watcher.next()
    #expect("\(line.reason ?? "") \(line.state ?? "") \(line.inFlight ?? -1)" == "request_ended delaying-end 0")
    #expect(line.isVisible == true)
    line = try watcher.next()
    #expect("\(line.reason ?? "") \(line.state ?? "") \(line.inFlight ?? -1)" == "completion_delay inactive 0")
    #expect(line.isVisible == false)
  }

  @Test func `a client that has said everything still listens, and its requests run`() throws {
    let service = try RunningService()
    let client = try service.client()
    _ = try client.next()
    client.send("{\"begin\":\"a\"}")
    client.endInput()
    #expect(try client.next().inFlight == 1)
    try service.namespace.run("ip link set v1 down")
    #expect(try client.next().status == "not-reachable")
    client.close()
    let watcher = try service.client()
    var line = try watcher.next()
    while line.inFlight != 0 { line = try watcher.next() }
    #expect(line.inFlight == 0)
  }

  @Test func `a client killed amid a hundred requests leaves nothing behind`() throws {
    let service = try RunningService()
    let watcher = try service.client()
    _ = try watcher.next()
    let client = try ChildProcess([Programs.sandbox, "connect", service.socket])
    for number in 0..<100 { client.write("{\"begin\":\"\(number)\"}\n") }
    var line = try watcher.next()
    while line.isVisible != true { line = try watcher.next() }
    #expect(line.inFlight == 100)
    client.signal(SIGKILL)
    let ended = try watcher.next()
    #expect("\(ended.reason ?? "") \(ended.inFlight ?? -1) \(ended.isVisible ?? false)" == "request_ended 0 true")
    let hidden = try watcher.next()
    #expect("\(hidden.reason ?? "") \(hidden.inFlight ?? -1) \(hidden.isVisible ?? true)" == "completion_delay 0 false")
    let gap = (hidden.monotonicNanoseconds ?? 0) - (ended.monotonicNanoseconds ?? 0)
    #expect(gap >= 169_000_000, "\(gap)")
  }

  // MARK: Its end

  @Test(arguments: [SIGTERM, SIGINT])
  func `a signal ends it, and its socket is removed`(signal: CInt) throws {
    let service = try RunningService()
    let client = try service.client()
    _ = try client.next()
    service.process.signal(signal)
    #expect(try service.process.wait() == .exited(0))
    #expect(try service.folder.names == [])
    #expect(try client.nextLine() == nil)
    #expect(try service.process.errorText() == "")
  }

  @Test func `a signal ends a service that counts everything and that nobody has asked`() throws {
    let folder = try TemporaryFolder()
    let namespace = try NetworkNamespace.online()
    let service = try namespace.netwatch("serve", "--activity", "all", "--socket", folder.file("s"))
    try eventually(folder.names) { $0.contains("s") }
    try service.waitUntilIdle()
    service.signal(SIGTERM)
    #expect(try service.wait() == .exited(0))
    #expect(try service.errorText() == "")
  }

  @Test func `SIGHUP is not the end, and no news`() throws {
    let service = try RunningService()
    let client = try service.client()
    _ = try client.next()
    for _ in 0..<20 { service.process.signal(SIGHUP) }
    client.send("{\"ping\":1}")
    #expect(try client.nextLine() == "{\"v\":1,\"pong\":1}")
    try service.namespace.run("ip link set v1 down")
    #expect(try client.next().summary == "not-reachable no_carrier -")
  }

  @Test func `what a dead service has left is taken over`() throws {
    let service = try RunningService()
    try service.kill()
    #expect(try service.folder.names == ["s", "s.lock"])
    try service.restart()
    #expect(try service.client().next().summary == "wifi initial v0")
    service.process.signal(SIGTERM)
    #expect(try service.process.wait() == .exited(0))
    #expect(try service.folder.names == [])
  }

  // MARK: Where it listens

  @Test func `a second service says who was first`() throws {
    let service = try RunningService()
    let second = try ChildProcess.run([Programs.netwatch, "serve", "--socket", service.socket])
    #expect(second.ending == .exited(2))
    #expect(
      second.error
        == "netwatch: another service (process \(service.process.pid)) has \(service.socket); use it, or name another with --socket"
    )
    // The first service still works.
    #expect(try service.client().next().summary == "wifi initial v0")
    #expect(try service.folder.names == ["s", "s.lock"])
  }

  @Test func `of many that start at once, one serves`() throws {
    let folder = try TemporaryFolder()
    let namespace = try NetworkNamespace.online()
    let environment = ["NETWATCH_SOCKET=\(folder.file("s"))"]
    let services = try (0..<8).map { _ in try namespace.netwatch("serve", environment: environment) }
    try eventually(services.map { try $0.endIfOver() }) { $0.count { $0 != nil } == 7 }
    #expect(try services.count { try $0.endIfOver() == .exited(2) } == 7)
    #expect(try ServiceClient(folder.file("s")).next().summary == "wifi initial v0")
  }

  @Test func `only its owner may connect to the socket`() throws {
    let service = try RunningService(shell: "umask 0")
    var status = stat()
    #expect(unsafe lstat(service.socket, &status) == 0)
    #expect(status.st_mode & 0o7777 == 0o600)
  }

  @Test func `the socket has its final mode from the beginning`() throws {
    let folder = try TemporaryFolder()
    let service = try ChildProcess([
      "sh", "-c", "umask 0; exec \"$@\"", "sh", Programs.sandbox, "chmod", Programs.netwatch, "serve", "--socket",
      folder.file("s"),
    ])
    _ = try ServiceClient(folder.file("s")).next()
    for name in ["s", "s.lock"] {
      var status = stat()
      #expect(unsafe lstat(folder.file(name), &status) == 0)
      #expect(status.st_mode & 0o7777 == 0o600, "\(name)")
    }
    withExtendedLifetime(service) {}
  }

  @Test func `another user is refused`() throws {
    // Only root can become another user.
    guard geteuid() == 0 else { return }
    let service = try RunningService()
    #expect(unsafe chmod(service.socket, 0o666) == 0)
    let program = try service.folder.install(Programs.sandbox)
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    let stranger = try ChildProcess.run(user + [program, "connect", service.socket])
    #expect(stranger.output == ["{\"v\":1,\"error\":\"this socket belongs to another user\"}"])
    #expect(try service.client().next().summary == "wifi initial v0")
    // The follower reads netlink by itself, and does not try to connect for ever.
    let netwatch = try service.folder.install(Programs.netwatch)
    let follow = try Follow(
      ChildProcess(
        service.namespace.command(user + [netwatch, "--follow", "--json"]), environment: service.environment))
    #expect(try follow.summary() == "wifi initial v0")
    try follow.process.waitUntilAsleep(forSeconds: 1)
    #expect(try follow.isQuiet(in: service.namespace))
  }

  @Test func `a follower that finds no room helps itself, and does not knock for ever`() throws {
    let service = try RunningService("--connections", "1")
    let only = try service.onlyClient()
    let follow = try service.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try follow.process.waitUntilAsleep(forSeconds: 1)
    try service.namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    #expect(try only.next().summary == "not-reachable no_carrier -")
  }

  @Test func `a file that is no socket is left alone`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("s")
    try "precious".write(toFile: path, atomically: false, encoding: .utf8)
    let result = try ChildProcess.run([Programs.netwatch, "serve", "--socket", path])
    #expect(result.ending == .exited(2))
    #expect(result.error == "netwatch: \(path) is no socket; remove it, or name another with --socket")
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    #expect(try folder.names == ["s"])
  }

  @Test func `a socket's path that is too long is refused`() throws {
    let folder = try TemporaryFolder()
    for length in [108, 300] {
      let path = folder.file(String(repeating: "x", count: length - folder.path.utf8.count - 1))
      let result = try ChildProcess.run([Programs.netwatch, "serve", "--socket", path])
      #expect(result.ending == .exited(2))
      #expect(result.error == "netwatch: a socket's path has 1 to 107 bytes; '\(path)' has \(length)")
    }
    #expect(try folder.names == [])
  }

  @Test func `a socket in a folder that does not exist is refused`() throws {
    let folder = try TemporaryFolder()
    let result = try ChildProcess.run([Programs.netwatch, "serve", "--socket", folder.file("none/s")])
    #expect(result.ending == .exited(2))
    #expect(result.error.hasPrefix("netwatch: cannot make \(folder.file("none/s"))"), "\(result.error)")
    #expect(
      result.error.hasSuffix(": No such file or directory; make its folder, or name another socket with --socket"))
  }

  @Test func `without a folder of the login it asks for a name`() throws {
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    let user = geteuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] : []
    let result = try ChildProcess.run(user + [program, "serve"], environment: ["NETWATCH_SOCKET="])
    #expect(result.ending == .exited(2))
    #expect(
      result.error
        == "netwatch: there is no XDG_RUNTIME_DIR for the socket; set NETWATCH_SOCKET to its path, here and for all that uses the service"
    )
  }

  @Test func `the default socket is in XDG_RUNTIME_DIR`() throws {
    let folder = try TemporaryFolder()
    let namespace = try NetworkNamespace.online()
    let environment = ["NETWATCH_SOCKET=", "XDG_RUNTIME_DIR=\(folder.path)"]
    let service = try namespace.netwatch("serve", environment: environment)
    _ = try ServiceClient(folder.file("netwatch.sock")).next()
    let follow = try Follow(namespace.netwatch("--follow", "--json", environment: environment))
    #expect(try follow.summary() == "wifi initial v0")
    let run = try namespace.netwatch("run", "--", "sleep", "1000", environment: environment)
    #expect(try follow.next().inFlight == 1)
    run.signal(SIGTERM)
    #expect(try follow.next().inFlight == 0)
    service.signal(SIGTERM)
    #expect(try service.wait() == .exited(0))
    #expect(try folder.names == [])
  }
}
