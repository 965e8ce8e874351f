import CLinux
import Foundation
import NetwatchTestSupport
import Testing

extension Line {
  var traffic: LineTraffic? { (object["traffic"] as? [String: Any]).map { LineTraffic($0) } }
}

/// The `traffic` figures of a JSON line.
struct LineTraffic: Equatable {
  let interface: String?
  let receivedRate: Int?
  let sentRate: Int?
  let receivedBytes: Int?
  let sentBytes: Int?
  /// The figures of each link if there are several.
  let links: [LineTraffic]

  init(_ object: [String: Any]) {
    interface = object["interface"] as? String
    receivedRate = object["rx_bps"] as? Int
    sentRate = object["tx_bps"] as? Int
    receivedBytes = object["rx_bytes"] as? Int
    sentBytes = object["tx_bytes"] as? Int
    links = (object["links"] as? [[String: Any]] ?? []).map { LineTraffic($0) }
  }
}

/// `netwatch --follow --traffic`, compared with the counters of the other end.
@Suite struct TrafficTests {
  @Test func `readers with intervals of their own count what the other end sends`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    try networks.far.run("head -c 3000000 /dev/zero >'\(folder.file("file"))'")
    let server = try networks.nginx(folder, bytesPerSecond: 1_000_000)
    let intervals = [0.2, 0.3, 0.5, 1]
    let readers = try intervals.map {
      try networks.near.follow("--no-service", "--traffic", "--traffic-interval", "\($0)")
    }
    for reader in readers { #expect(try reader.next().event == "initial") }
    let before = try readers.map { try #require(try $0.next().traffic) }
    let (near, far) = (networks.near, networks.far)
    let start = try Self.counters(of: "v1", in: far)
    let client = try networks.start("curl", "-s", "-o", "/dev/null", "http://10.0.0.2:8080/file")
    #expect(try client.wait() == .exited(0))
    let sent = try Self.counters(of: "v1", in: far) - start
    for (interval, (reader, before)) in zip(intervals, zip(readers, before)) {
      var (bits, time, last) = (0.0, 0.0, reader.lines[1])
      while true {
        let line = try reader.next()
        #expect(line.event == "traffic")
        #expect(line.sequence == 1)
        let traffic = try #require(line.traffic)
        #expect(traffic.interface == "v0")
        let seconds = Double((line.monotonicNanoseconds ?? 0) - (last.monotonicNanoseconds ?? 0)) / 1e9
        bits += Double(try #require(traffic.receivedRate)) * seconds
        time += seconds
        last = line
        if let bytes = traffic.receivedBytes, bytes - (before.receivedBytes ?? 0) >= sent { break }
      }
      #expect(abs(bits / 8 / Double(sent) - 1) < 0.02)
      #expect(time > 2)
      // All readers take samples at multiples of their intervals, so that they wake the machine together.
      try eventually(Self.nextTick(of: reader)) { tick in
        let multiple = (tick.upperBound / interval).rounded(.down) * interval
        return tick.upperBound - tick.lowerBound < interval / 10 && multiple >= tick.lowerBound - 0.001
      }
    }
    withExtendedLifetime((server, near)) {}
  }

  /// Returns the range of the time at which the next sample is due, in seconds on the monotonic clock.
  private static func nextTick(of reader: Follow) -> ClosedRange<Double> {
    let before = Double(Line.monotonicNow) / 1e9
    let time = reader.process.timeToNextTimer ?? 0
    let after = Double(Line.monotonicNow) / 1e9
    return before + time...after + time
  }

  /// Returns whether at most one line has come in each interval since the lines were asked for. On a busy machine,
  /// lines may come later.
  private static func areOncePerInterval(_ seconds: Double, since start: Int, _ lines: some Collection<Line>) -> Bool {
    lines.enumerated().allSatisfy { number, line in
      Double((line.monotonicNanoseconds ?? 0) - start) / 1e9 >= Double(number) * seconds
    }
  }

  /// Returns the number of bytes that a link has sent.
  private static func counters(of link: String, in network: NetworkNamespace) throws -> Int {
    let answer = try ChildProcess.run(network.command(["ip", "-s", "-j", "link", "show", link]))
    let links = try JSONSerialization.jsonObject(with: Data(answer.output.joined().utf8)) as? [[String: Any]]
    let statistics = links?.first?["stats64"] as? [String: [String: Any]]
    return try #require(statistics?["tx"]?["bytes"] as? Int)
  }

  @Test func `a service tells those who ask, each as often as he wants, and a reader does not sample itself`() throws {
    let service = try RunningService()
    let quiet = try service.client()
    #expect(try quiet.next().event == "initial")
    let intervals = [0.1, 0.3, 0.3]
    let clients = try intervals.map { interval in
      let client = try service.client()
      #expect(try client.next().event == "initial")
      let asked = Line.monotonicNow
      client.send("{\"traffic\":\(interval)}")
      return (client, asked)
    }
    for ((client, asked), interval) in zip(clients, intervals) {
      let lines = try (0..<3).map { _ in try client.next() }
      #expect(lines.allSatisfy { $0.event == "traffic" && $0.reason == "sampled" && $0.sequence == 1 })
      #expect(lines.allSatisfy { $0.traffic?.interface == "v0" && $0.traffic?.receivedRate != nil })
      #expect(Self.areOncePerInterval(interval, since: asked, lines), "\(lines)")
    }
    // Both clients get the same sample at the same moment.
    #expect(try clients[1].0.next().text == clients[2].0.next().text)
    clients[0].0.send("{\"traffic\":false}")
    let asked = Line.monotonicNow
    let reader = try service.follow("--traffic", "--traffic-interval", "0.2")
    #expect(try reader.next().event == "initial")
    for _ in 0..<4 { #expect(try reader.next().traffic?.interface == "v0") }
    // The service and the follower's own sampler tick at the same time, and only one of them is used.
    #expect(Self.areOncePerInterval(0.2, since: asked, reader.lines.dropFirst()), "\(reader.lines)")
    // The service is killed, and the follower continues by itself.
    try service.kill()
    for _ in 0..<4 {
      let line = try reader.next()
      #expect(line.event == "traffic")
      #expect(line.traffic?.interface == "v0")
    }
    // A client that has not asked for the traffic has got nothing.
    #expect(throws: (any Error).self) { try quiet.next() }
  }

  @Test(arguments: ["0", "0.05", "1e9", "true", "null", "\"1\"", "-1", "[1]"])
  func `an interval that is none is refused`(_ text: String) throws {
    let service = try RunningService()
    let client = try service.client()
    _ = try client.next()
    client.send("{\"traffic\":\(text)}")
    #expect(try client.error().contains("is false or a number of seconds from 0.1 to 86400"))
  }

  @Test func `another link has no rate at first, and no peak`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.addSecondUplink()
    // The counter of the second link is now far from that of the first one.
    try namespace.send(20, bytes: 1_400, to: "10.1.0.77", over: "w0")
    let follow = try namespace.follow("--no-service", "--traffic", "--traffic-interval", "0.1")
    #expect(try follow.next().traffic == nil)
    #expect(try follow.next().traffic?.receivedRate != nil)
    try namespace.run("ip link set v0 down")
    var line = try follow.next()
    while line.event == "traffic" {
      #expect(line.traffic?.interface == "v0")
      line = try follow.next()
    }
    #expect(line.interface == "w0")
    #expect(line.traffic == nil)
    #expect(line.sequence == 2)
    let rates = try (0..<3).map { _ in try #require(try follow.next().traffic) }
    #expect(rates.map(\.interface) == ["w0", "w0", "w0"])
    // Only the kernel's questions for a neighbour go over this link.
    #expect(rates.allSatisfy { $0.sentRate ?? 0 < 100_000 })
    try namespace.run("ip link set w0 down")
    line = try follow.next()
    while line.event == "traffic" { line = try follow.next() }
    #expect(line.status == "not-reachable")
    // Without a link there are no figures: nothing wakes netwatch, and the next line is one of the path.
    try follow.process.waitUntilIdle()
    try namespace.run("ip link set w0 up")
    try namespace.waitUntilRunning("w0")
    try namespace.run("ip route add default via 10.1.0.2 metric 600")
    line = try follow.next()
    #expect(line.event == "reachability")
  }

  @Test(arguments: [0, O_NONBLOCK])
  func `a slow reader gets whole lines, and samples that were missed are not made up for`(flags: CInt) throws {
    var ends: [CInt] = [-1, -1]
    let made = unsafe pipe2(&ends, CInt(O_CLOEXEC) | flags)
    try #require(made == 0)
    let reader = LineReader(ends[0])
    // F_SETPIPE_SZ (1031) makes the pipe as small as the kernel permits.
    try #require(fcntl(ends[0], 1031, 4096) == 4096)
    let namespace = try NetworkNamespace.online()
    let child = try ChildProcess(
      namespace.command([Programs.netwatch, "-f", "--json", "--no-service", "--traffic", "--traffic-interval", "0.1"]),
      standardOutput: .descriptor(ends[1]))
    close(ends[1])
    var lines = [try Line(#require(try reader.next(within: 20)))]
    // Lines with figures are longer than the first line. At most one more fits into the pipe, and netwatch soon has to
    // wait.
    func bytesInPipe() -> Int {
      var count: CInt = 0
      _ = unsafe ioctl(ends[0], UInt(FIONREAD), &count)
      return Int(count)
    }
    try eventually(bytesInPipe()) { $0 >= 4096 - 2 * lines[0].text.utf8.count }
    // netwatch misses several samples in this time.
    let full = Line.monotonicNow
    try eventually(Line.monotonicNow - full) { $0 > 300_000_000 }
    try namespace.run("ip link set v1 down")
    while lines.last?.status == "wifi" { lines.append(try Line(#require(try reader.next(within: 20)))) }
    #expect(lines.last?.summary == "not-reachable no_carrier -")
    // At least three samples were missed. On a busy machine, two lines may be written in one interval, the first of
    // them late.
    let intervals = lines.dropLast().filter { $0.event == "traffic" }.map {
      ($0.monotonicNanoseconds ?? 0) / 100_000_000
    }
    #expect(zip(intervals.dropFirst(2), intervals).allSatisfy { $0 > $1 }, "\(lines)")
    child.signal(SIGTERM)
    #expect(try child.wait() == .signalled(SIGTERM))
  }

  @Test func `with every link listed, each has its figures`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow("--no-service", "--interfaces", "--traffic", "--traffic-interval", "0.1")
    _ = try follow.next()
    var line = try follow.next()
    while line.event != "traffic" { line = try follow.next() }
    let links = try #require(line.interfaces)
    #expect(links.count == 3)
    for link in links {
      let traffic = LineTraffic(try #require(link["traffic"] as? [String: Any]))
      #expect(traffic.receivedBytes != nil)
      #expect(traffic.interface == nil)
    }
  }

  @Test func `a template asks by itself, and text has a line each second`() throws {
    let namespace = try NetworkNamespace.online()
    let bar = try namespace.netwatch(
      "--follow", "--no-service", "--template", "{interface} {down}b/s {up}b/s", "--traffic-interval", "0.1")
    #expect(try bar.nextLine() == "v0   - b/s   - b/s")
    let line = try #require(try bar.nextLine())
    #expect(line.wholeMatch(of: /v0 [ 0-9.]{3}[ k]b\/s [ 0-9.]{3}[ k]b\/s/) != nil, "\(line)")
    let text = try namespace.netwatch(
      "--follow", "--no-service", "--format", "text", "--traffic", "--traffic-interval", "0.1", "--units", "bytes",
      environment: ["LC_ALL=C.UTF-8"])
    _ = try text.nextLine()
    let rates = try #require(try text.nextLine())
    #expect(
      rates.wholeMatch(of: /[0-9:]{8} +↓ [ 0-9.]{3} k?B\/s  ↑ [ 0-9.]{3} k?B\/s +v0/) != nil, "\(rates)")
  }

  @Test func `the library's sequence follows the link, and leaves no thread behind`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.addSecondUplink()
    try namespace.send(2, to: "10.0.0.2", over: "v0")
    let probe = try ChildProcess(namespace.command([Programs.probe, "traffic"]))
    for _ in 0..<3 { #expect(try probe.nextLine() == "v0 true true") }
    try namespace.run("ip link set v0 down")
    // The first figures of another link have no rate.
    #expect(try probe.nextLine()?.hasPrefix("w0 ") == true)
    #expect(try probe.nextLine() == "threads 0")
  }

  // MARK: Several links at once

  /// A network whose traffic goes over v0 and w0, by two next hops of one route, or by one family each.
  private func overTwoLinks(byFamily: Bool = false) throws -> NetworkNamespace {
    let namespace = try NetworkNamespace.online()
    try namespace.addSecondUplink()
    if byFamily {
      try namespace.configure(
        "addr add 2001:db8::1/64 dev w0 nodad", "route add default via fe80::1 dev w0")
    } else {
      try namespace.configure(
        "route del default metric 600", "route replace default nexthop via 10.0.0.2 nexthop via 10.1.0.2")
    }
    return namespace
  }

  /// Returns the first traffic of a reader that goes over these links.
  private func traffic(of follow: Follow, over names: [String]) throws -> LineTraffic {
    while true {
      if let traffic = try follow.next().traffic, traffic.links.compactMap(\.interface).sorted() == names {
        return traffic
      }
    }
  }

  @Test(arguments: [false, true])
  func `all links that carry the path are counted, by next hops or by family`(_ byFamily: Bool) throws {
    let namespace = try overTwoLinks(byFamily: byFamily)
    let follow = try namespace.follow("--no-service", "--traffic", "--traffic-interval", "0.1")
    let before = try traffic(of: follow, over: ["v0", "w0"])
    try namespace.send(300, bytes: 1_000, to: "10.0.0.2", over: "v0")
    try namespace.send(200, bytes: 1_000, to: "10.1.0.2", over: "w0")
    let (v0, w0) = (try Self.counters(of: "v0", in: namespace), try Self.counters(of: "w0", in: namespace))
    var after = before
    while after.sentBytes ?? 0 < v0 + w0 { after = try traffic(of: follow, over: ["v0", "w0"]) }
    #expect(try #require(after.sentBytes) - (before.sentBytes ?? 0) >= 500_000)
    #expect(after.links.compactMap(\.sentBytes).reduce(0, +) == after.sentBytes)
    #expect(after.links.compactMap(\.sentRate).reduce(0, +) == after.sentRate)
    // The other link goes. The path stays, so no line tells it, but its bytes are not counted any more.
    let own = try #require(after.interface)
    try namespace.run("ip link set \(own == "v0" ? "w0" : "v0") down")
    var line = try follow.next()
    while line.traffic?.links.isEmpty == false { line = try follow.next() }
    while line.event != "traffic" { line = try follow.next() }
    #expect(line.traffic?.interface == own)
    #expect(byFamily || follow.lines.allSatisfy { $0.event != "reachability" })
  }

  @Test func `a service tells its clients all links, and a client that loses it counts them itself`() throws {
    let service = try RunningService()
    try service.namespace.addSecondUplink()
    try service.namespace.configure(
      "route del default metric 600", "route replace default nexthop via 10.0.0.2 nexthop via 10.1.0.2")
    let reader = try service.follow("--traffic", "--traffic-interval", "0.1")
    let served = try traffic(of: reader, over: ["v0", "w0"])
    #expect(served.links.compactMap(\.sentBytes).reduce(0, +) == served.sentBytes)
    try service.kill()
    let count = reader.lines.count
    for _ in 0..<3 { _ = try traffic(of: reader, over: ["v0", "w0"]) }
    #expect(reader.lines.dropFirst(count + 3).allSatisfy { $0.traffic?.links.count == 2 })
  }

  @Test func `the library, the metrics, a terminal and the log know all links`() throws {
    let namespace = try overTwoLinks()
    try namespace.send(300, bytes: 1_000, to: "10.0.0.2", over: "v0")
    try namespace.send(200, bytes: 1_000, to: "10.1.0.2", over: "w0")
    let probe = try ChildProcess(namespace.command([Programs.probe, "traffic"]))
    let said = try #require(try probe.nextLine())
    #expect(["v0 true true v0 w0", "w0 true true w0 v0"].contains(said), "\(said)")
    let metrics = try ChildProcess.run(
      namespace.command([Programs.netwatch, "status", "--prometheus", "--no-service"]))
    for name in ["v0", "w0"] {
      #expect(metrics.output.filter { $0.hasPrefix("netwatch_transmit_bytes_total{interface=\"\(name)\"}") }.count == 1)
    }
    #expect(metrics.output.filter { $0 == "# TYPE netwatch_transmit_bytes_total counter" }.count == 1)
    let folder = try TemporaryFolder()
    let log = try namespace.netwatch(
      "--follow", "--no-service", "--format", "text", "--traffic", "--traffic-interval", "0.1", "--count", "15",
      "--log",
      environment: ["LC_ALL=C.UTF-8", "XDG_STATE_HOME=\(folder.path)"])
    var names: Set<String> = []
    _ = try log.nextLine()
    while let line = try log.nextLine() {
      names.insert(String(line.suffix(2)))
      try namespace.send(1, bytes: 1_000, to: "10.0.0.2", over: "v0")
      try namespace.send(1, bytes: 1_000, to: "10.1.0.2", over: "w0")
    }
    #expect(names == ["v0", "w0"])
    let days = try ChildProcess.run(
      [Programs.netwatch, "log", "--traffic", "month", "--csv"], environment: ["XDG_STATE_HOME=\(folder.path)"])
    #expect(days.output.contains { $0.contains(",v0,") } && days.output.contains { $0.contains(",w0,") })
  }

  @Test func `metrics count the bytes of the link, whatever it is called`() throws {
    let namespace = try NetworkNamespace.online()
    let metrics = [Programs.netwatch, "status", "--prometheus", "--no-service"]
    // The datagrams are more than IPv6 sends by itself.
    try namespace.send(50, bytes: 1_000, to: "10.0.0.2", over: "v0")
    try namespace.run(
      "ip link set v0 down", #"ip link set v0 name 'a"b\'"#,
      #"ip link set 'a"b\' up"#, "ip route add default via 10.0.0.2")
    let text = try ChildProcess.run(namespace.command(metrics)).output.joined(separator: "\n")
    let wanted = #/netwatch_transmit_bytes_total\{interface="a\\"b\\\\"\} ([0-9]+)/#
    let sent = try #require(text.firstMatch(of: wanted), "\(text)")
    #expect(try #require(Int(sent.1)) >= 50_000)
    #expect(text.contains("# TYPE netwatch_receive_bytes_total counter"))
    try namespace.run(#"ip link set 'a"b\' down"#)
    #expect(try !ChildProcess.run(namespace.command(metrics)).output.joined().contains("bytes_total"))
  }

  @Test(arguments: [
    (["--traffic"], "--traffic belongs to --follow; use netwatch -f."),
    (["-f", "--traffic-interval", "2"], "--traffic-interval belongs to --traffic; add --traffic."),
    (["-f", "--units", "bytes"], "--units belongs to --traffic; add --traffic."),
    (["snippet", "waybar", "--units", "bytes"], "--units belongs to --traffic; add --traffic."),
    (["snippet", "conky", "--traffic"], "conky asks for one line at a time, which has no rate; leave out --traffic."),
    (["status", "--traffic"], "--traffic belongs to --follow; use netwatch -f."),
    (["-f", "--traffic", "--traffic-interval", "0.01"], "--traffic-interval needs 0.1 or more."),
  ])
  func `a mistake gets a sentence`(_ arguments: [String], _ sentence: String) throws {
    let answer = try ChildProcess.run([Programs.netwatch] + arguments)
    #expect(answer.ending == .exited(64))
    #expect(answer.error.contains(sentence))
  }
}
