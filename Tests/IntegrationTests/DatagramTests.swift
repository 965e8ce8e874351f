import Glibc
import NetwatchTestSupport
import Testing

/// Tests of `--activity udp`: programs that exchange datagrams over connected sockets, as QUIC does, and traffic that
/// is no request.
@Suite struct DatagramTests {
  /// A Python server that answers each datagram "COUNT SIZE MILLISECONDS" with COUNT datagrams of SIZE bytes, and waits
  /// MILLISECONDS after each.
  private static let server = """
    import socket, sys, threading, time
    def answer(s, words, peer):
        for _ in range(words[0]):
            s.sendto(bytes(words[1]), peer)
            time.sleep(words[2] / 1000)
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.bind(('::', int(sys.argv[1])))
    print('ready', flush=True)
    while True:
        data, peer = s.recvfrom(100)
        threading.Thread(target=answer, args=(s, [int(word) for word in data.split()], peer)).start()
    """
  /// A Python client that connects, asks, waits for all answers, and keeps its socket. Its arguments are HOST PORT
  /// COUNT SIZE MILLISECONDS.
  private static let client = """
    import socket, sys, time
    family, _, _, _, address = socket.getaddrinfo(sys.argv[1], sys.argv[2], type=socket.SOCK_DGRAM)[0]
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.connect(address)
    print('asked', time.monotonic_ns(), flush=True)
    s.send(' '.join(sys.argv[3:]).encode())
    for _ in range(int(sys.argv[3])): s.recv(2000)
    print('answered', time.monotonic_ns(), flush=True)
    time.sleep(1000)
    """

  private static func serve(_ namespace: NetworkNamespace, _ port: Int) throws -> ChildProcess {
    let process = try ChildProcess(namespace.command(["python3", "-c", server, "\(port)"]))
    #expect(try process.nextLine() == "ready")
    return process
  }

  private static func ask(
    _ namespace: NetworkNamespace, _ host: String = "10.0.0.2", port: Int = 443, count: Int, size: Int, every: Int
  ) throws -> ChildProcess {
    try ChildProcess(namespace.command(["python3", "-c", client, host, "\(port)", "\(count)", "\(size)", "\(every)"]))
  }

  /// Waits for the next line of a client and returns its time in nanoseconds, on the monotonic clock.
  private static func moment(_ client: ChildProcess) throws -> Int {
    try client.nextLine(within: 60).flatMap { $0.split(separator: " ").last.flatMap { Int($0) } } ?? 0
  }

  private static func lines(_ follow: Follow, untilVisible: Bool) throws -> [Line] {
    var lines: [Line] = []
    repeat { lines.append(try follow.next()) } while lines.last?.isVisible != untilVisible
    return lines
  }

  @Test(arguments: ["10.0.0.2", "fd00::2"], ["udp", "tcp,udp"])
  func `a download shows after a second, and hides with its end`(host: String, counts: String) throws {
    let networks = try TwoNetworks()
    let server = try Self.serve(networks.far, 443)
    let follow = try networks.near.follow("--activity", counts)
    let first = try follow.next()
    #expect(first.inFlight == 0 && first.udpInFlight == 0)
    #expect(first.tcpInFlight == (counts == "udp" ? nil : 0))
    let client = try Self.ask(networks.near, host, count: 500, size: 1_200, every: 10)
    let asked = try Self.moment(client)
    let shown = try Self.lines(follow, untilVisible: true)
    #expect(shown.last?.udpInFlight == 1 && shown.last?.requestsInFlight == 0)
    #expect(1_000_000_000... ~= (shown.last?.monotonicNanoseconds ?? 0) - asked)
    let answered = try Self.moment(client)
    let hidden = try Self.lines(follow, untilVisible: false)
    // A sample may end just before the last datagram.
    #expect((hidden.last?.monotonicNanoseconds ?? 0) > answered)
    // The indicator may be hidden as soon as netwatch sees the end.
    #expect([[1, 1, 0], [1, 1, 0, 0]].contains((shown + hidden).map { $0.inFlight ?? -1 }))
    withExtendedLifetime(server) {}
  }

  @Test func `keep-alives, names, clocks and announcements are no requests`() throws {
    let networks = try TwoNetworks()
    let servers = try [443, 53, 123].map { try Self.serve(networks.far, $0) }
    let follow = try networks.near.follow("--activity", "udp")
    #expect(try follow.next().udpInFlight == 0)
    // The first client keeps a connection with a small datagram now and then. The second gets as many names as a large
    // page needs, and the third gets the time.
    let clients = try [
      Self.ask(networks.near, port: 443, count: 15, size: 40, every: 200),
      Self.ask(networks.near, "fd00::2", port: 53, count: 300, size: 150, every: 10),
      Self.ask(networks.near, port: 123, count: 20, size: 48, every: 100),
    ]
    for client in clients { _ = try Self.moment(client) }
    for client in clients.dropFirst() { _ = try Self.moment(client) }
    #expect(try follow.isQuiet(in: networks.near))
    withExtendedLifetime(servers) {}
  }

  /// The datagrams are as many and as large as those of a download.
  @Test(arguments: [53, 123, 51_820])
  func `what goes to a port of names, clocks or tunnels is no request`(port: Int) throws {
    let networks = try TwoNetworks()
    let server = try Self.serve(networks.far, port)
    let follow = try networks.near.follow("--activity", "udp")
    #expect(try follow.next().udpInFlight == 0)
    let client = try Self.ask(networks.near, port: port, count: 250, size: 1_200, every: 10)
    for _ in 1...2 { _ = try Self.moment(client) }
    #expect(try follow.isQuiet(in: networks.near))
    withExtendedLifetime(server) {}
  }

  /// A connection is kept beside the tunnel, and the datagrams of the tunnel could belong to it.
  @Test func `the datagrams of a tunnel are no requests`() throws {
    let networks = try TwoNetworks()
    for (network, number, other) in [(networks.near, 1, 2), (networks.far, 2, 1)] {
      try network.run(
        "ip link add vx0 type vxlan id 5 remote 10.0.0.\(other) dstport 4789 dev v\(number - 1)",
        "ip addr add 10.9.0.\(number)/24 dev vx0", "ip link set vx0 gso_max_segs 1 up")
    }
    let folder = try TemporaryFolder()
    try networks.far.run("head -c 1000000 /dev/zero >'\(folder.file("file"))'")
    let servers = try [Self.serve(networks.far, 443), networks.nginx(folder, bytesPerSecond: 300_000)]
    let kept = try Self.ask(networks.near, count: 1, size: 40, every: 0)
    for _ in 1...2 { _ = try Self.moment(kept) }
    let follow = try networks.near.follow("--activity", "udp")
    #expect(try follow.next().udpInFlight == 0)
    try networks.near.run("curl -sf -o /dev/null http://10.9.0.2:8080/file")
    #expect(try follow.isQuiet(in: networks.near))
    withExtendedLifetime((servers, kept)) {}
  }

  @Test func `what is ignored, unconnected or within the machine does not count`() throws {
    let networks = try TwoNetworks()
    try networks.near.run("ip link set lo up")
    let servers = try [Self.serve(networks.far, 443), Self.serve(networks.near, 444)]
    let ignoring = try ["443", "10.0.0.0/8", "python3"].map {
      try networks.near.follow("--activity", "udp", "--activity-ignore", $0)
    }
    let far = try networks.far.follow("--activity", "udp", "--target", "10.0.0.1")
    for follow in ignoring + [far] { #expect(try follow.next().udpInFlight == 0) }
    let clients = try [
      Self.ask(networks.near, count: 300, size: 1_200, every: 10),
      Self.ask(networks.near, "127.0.0.1", port: 444, count: 300, size: 1_200, every: 10),
      Self.ask(networks.near, "10.0.0.1", port: 444, count: 300, size: 1_200, every: 10),
    ]
    for client in clients {
      _ = try Self.moment(client)
      _ = try Self.moment(client)
    }
    // The server's socket is not connected and has many other ends.
    #expect(try Follow.areQuiet(ignoring, in: networks.near))
    #expect(!far.process.hasLine)
    withExtendedLifetime(servers) {}
  }
}
