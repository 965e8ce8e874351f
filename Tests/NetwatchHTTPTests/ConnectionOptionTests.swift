import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of how a session makes, keeps and chooses its connections.
@Suite(.timeLimit(.minutes(5))) struct ConnectionOptionTests {
  private static let facts = """
    location = /facts { default_type text/plain; return 200 "$remote_addr $server_protocol $host $connection"; }
    """

  private func session(
    policy: SecurityPolicy = .system, path: (any PathSource)? = nil, _ change: (inout HTTPSessionConfiguration) -> Void
  ) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    change(&configuration)
    return try HTTPSessionManager(configuration: configuration, policy: policy, path: path)
  }

  /// Returns what the server has seen: the address of the client, the protocol, the host and the number of the
  /// connection.
  private func facts(_ url: URL, _ session: HTTPSessionManager) async throws -> [String] {
    let reply = try await session.data(for: HTTPRequest(.get, to: url.appending(path: "facts")))
    return String(decoding: reply.value, as: UTF8.self).split(separator: " ").map(String.init)
  }

  private func failure(_ url: URL, _ session: HTTPSessionManager) async throws -> HTTPError {
    try #require(await #expect(throws: HTTPError.self) { try await facts(url, session) })
  }

  // MARK: Where connections go and leave from

  @Test func `a Unix socket leads to the server, whatever the host is`() async throws {
    let folder = try TemporaryFolder()
    let authority = try CertificateAuthority()
    let policy = try SecurityPolicy(.none, roots: .certificates(X509Certificate.load(authority.root.certificate)))
    let chain = try authority.chain(authority.issue("leaf", names: "DNS:a.invalid"))
    let server = try NginxServer(
      server: "listen unix:\(folder.file("plain")); listen unix:\(folder.file("tls")) ssl http2; \(Self.facts)",
      certificate: chain)
    // A session with a Unix socket never waits for a network path, and ignores its changes.
    let path = NoPath()
    let plain = try session(path: path) {
      $0.unixSocketPath = folder.file("plain")
      $0.taskOptions.reachabilityTimeout = .seconds(1)
      $0.taskOptions.retriesWhenReachable = true
      $0.taskOptions.allowsExpensivePath = false
    }
    for host in ["docker", "a.invalid", "127.0.0.1"] {
      for _ in 0..<2 {
        let facts = try await facts(URL(string: "http://\(host)/")!, plain)
        #expect(facts[..<3] == ["unix:", "HTTP/1.1", host])
      }
    }
    let secure = try session(policy: policy) { $0.unixSocketPath = folder.file("tls") }
    #expect(try await facts(URL(string: "https://a.invalid/")!, secure)[..<3] == ["unix:", "HTTP/2.0", "a.invalid"])
    let wrong = try await failure(URL(string: "https://b.invalid/")!, secure)
    #expect(wrong.tlsFailure?.reason == .nameMismatch)
    let missing = try session(path: path) {
      $0.unixSocketPath = folder.file("missing")
      $0.taskOptions.retriesWhenReachable = true
    }
    #expect(try await failure(URL(string: "http://docker/")!, missing).kind == .cannotConnect)
    withExtendedLifetime(server) {}
  }

  @Test func `connections leave from the address and from the interface that were chosen`() async throws {
    let server = try NginxServer(server: Self.facts)
    let second = try session { $0.localEndpoint = .address(.v4(0x7f00_0002)) }
    let port = try #require(server.url.port)
    for host in ["127.0.0.1", "localhost"] {
      for _ in 0..<2 { #expect(try await facts(URL(string: "http://\(host):\(port)/")!, second)[0] == "127.0.0.2") }
    }
    let loopback = try session { $0.localEndpoint = .interface("lo") }
    #expect(try await facts(server.url, loopback)[0] == "127.0.0.1")
  }

  @Test func `an address or an interface that is not there is told`() async throws {
    let server = try NginxServer()
    // The network 192.0.2.0/24 is only for documentation (RFC 5737), so no interface has this address.
    let address = try await failure(server.url, session { $0.localEndpoint = .address(.v4(0xc000_0207)) })
    #expect(address.kind == .cannotConnect)
    #expect(
      address.message == "no connection can leave from the address of localEndpoint: Cannot assign requested address")
    let family = try await failure(server.url, session { $0.localEndpoint = .address(.v6(1)) })
    #expect(family.kind == .cannotConnect)
    #expect(family.message.contains("Address family not supported"), "\(family)")
    let interface = try await failure(server.url, session { $0.localEndpoint = .interface("netwatch-none") })
    #expect(interface.kind == .cannotConnect)
    #expect(
      interface.message.hasPrefix("no connection can leave from the interface 'netwatch-none' of localEndpoint: "),
      "\(interface)")
  }

  @Test func `names have the addresses that they are given, and the next one is tried`() async throws {
    let authority = try CertificateAuthority()
    let policy = try SecurityPolicy(.none, roots: .certificates(X509Certificate.load(authority.root.certificate)))
    let server = try NginxServer(
      server: Self.facts, certificate: authority.chain(authority.issue("leaf", names: "DNS:api.invalid,DNS:b.invalid")))
    let port = try #require(server.tlsURL().port)
    let (loopback, closed) = (InternetAddress.v4(0x7f00_0001), InternetAddress.v4(0x7f00_0009))
    let session = try session(policy: policy) {
      $0.addressOverrides = [
        "API.invalid.": [closed, loopback], "b.invalid": [closed], "b.invalid:\(port)": [loopback],
      ]
    }
    for host in ["api.invalid", "Api.invalid", "b.invalid"] {
      let facts = try await facts(server.tlsURL(host: host), session)
      #expect(facts[..<3] == ["127.0.0.1", "HTTP/2.0", host.lowercased()])
    }
    let other = try #require(server.url.port)
    #expect(try await failure(URL(string: "http://b.invalid:\(other)/")!, session).kind == .cannotConnect)
    #expect(try await failure(server.tlsURL(host: "c.invalid"), session).kind == .notResolved)
  }

  @Test func `an address that does not answer gives way to the next one`() async throws {
    let server = try NginxServer(server: Self.facts)
    let port = try #require(server.url.port)
    let (mute, loopback) = (InternetAddress.v4(0x7f00_0009), InternetAddress.v4(0x7f00_0001))
    let listener = try MuteListener(0x7f00_0009, port: port)
    let session = try session { $0.addressOverrides = ["a.invalid": [mute, loopback]] }
    async let address = facts(URL(string: "http://a.invalid:\(port)/")!, session)[0]
    // The only address of a name has the whole timeout. An address that is followed by another one has three seconds.
    let patient = try self.session { $0.addressOverrides = ["b.invalid": [mute]] }
    let began = ContinuousClock.now
    let error = await #expect(throws: HTTPError.self) {
      try await patient.data(
        for: URL(string: "http://b.invalid:\(port)/")!, options: .with { $0.timeout = .seconds(4) })
    }
    #expect(error?.kind == .timedOut && ContinuousClock.now - began >= .seconds(4))
    #expect(try await address == "127.0.0.1")
    withExtendedLifetime((server, listener)) {}
  }

  @Test func `the time for a name with silent addresses begins once`() async throws {
    let server = try NginxServer(server: Self.facts)
    let port = try #require(server.url.port)
    let addresses: [UInt32] = [0x7f00_000a, 0x7f00_000b, 0x7f00_000c]
    let listeners = try addresses.map { try MuteListener($0, port: port) }
    let before = try addresses.map { try Self.attempts(to: $0, port) }
    var configuration = HTTPSessionConfiguration()
    configuration.addressOverrides = ["a.invalid": addresses.map { .v4($0) }]
    let clock = ManualClock()
    let session = try HTTPSessionManager(configuration: configuration, threads: HTTPThreads(by: clock))
    let kinds = Box<[HTTPError.Kind]>([])
    let url = try #require(URL(string: "http://a.invalid:\(port)/"))
    session.dataTask(url, options: .with { $0.timeout = .seconds(5) }) { result in
      if case .failure(let error) = result { kinds.change { $0.append(error.kind) } }
    }.resume()
    try await eventually(Self.attempts(to: addresses[0], port)) { $0 > before[0] }
    await session.pass(.seconds(4), on: clock)
    // The next address is tried when the kernel has given up the first one, after three seconds.
    try await eventually(Self.attempts(to: addresses[1], port)) { $0 > before[1] }
    await session.pass(.seconds(1), on: clock)
    try await eventually(kinds.now) { $0 == [.timedOut] }
    withExtendedLifetime((server, listeners)) {}
  }

  /// Returns the number of sockets from which the kernel sends SYN to an address (state SYN_SENT).
  private static func attempts(to address: UInt32, _ port: Int) throws -> Int {
    // One read(2) returns only a part of this table, so the file is read to its end.
    let file = try #require(FileHandle(forReadingAtPath: "/proc/self/net/tcp"))
    let table = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    let peer = String(format: "%08X:%04X", address.byteSwapped, port)
    return table.split(separator: "\n").count { line in
      let words = line.split(separator: " ")
      return words.count > 3 && words[2] == peer && words[3] == "02"
    }
  }

  // MARK: Versions

  @Test func `the version of HTTP is the one that was chosen`() async throws {
    let authority = try CertificateAuthority()
    let policy = try SecurityPolicy(.none, roots: .certificates(X509Certificate.load(authority.root.certificate)))
    let clear = try LoopbackPort()
    let server = try NginxServer(
      server: "listen 127.0.0.1:\(clear.number) http2; \(Self.facts)",
      certificate: authority.chain(authority.issue("leaf")))
    let clearURL = try #require(URL(string: "http://127.0.0.1:\(clear.number)/"))
    for (version, secure) in [
      (HTTPVersion.http1_1, "HTTP/1.1"), (.http2, "HTTP/2.0"), (.http2PriorKnowledge, "HTTP/2.0"),
    ] {
      let session = try session(policy: policy) { $0.httpVersion = version }
      #expect(try await facts(server.tlsURL(), session)[1] == secure)
      if version == .http2PriorKnowledge {
        // All requests share one connection if this version of libcurl can do so.
        let connections = try await withThrowingTaskGroup(of: String.self) { group in
          for _ in 0..<20 { group.addTask { try await facts(clearURL, session)[3] } }
          return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(connections.count == (CurlLibrary.reusesPlainHTTP2 ? 1 : 20))
        let body = try await session.upload(
          .data(Data("hello".utf8)), with: HTTPRequest(.put, to: clearURL.appending(path: "upload/file")))
        #expect(body.response.status == .created)
        #expect(body.metrics.protocolVersion == "2")
      } else {
        #expect(try await facts(server.url, session)[1] == "HTTP/1.1")
      }
    }
  }

  // MARK: The pool

  /// Sends `count` requests, waits until the server has `limit` of them and holds its answers, and lets it answer all.
  /// Returns what the server has counted.
  private func requests(
    _ count: Int, hosts: [String], limit: Int, _ session: HTTPSessionManager
  ) async throws -> GateServer.Counts {
    let server = try GateServer(isOpen: false)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        let url = URL(string: "http://\(hosts[number % hosts.count]):\(server.server.port)/")!
        group.addTask { _ = try await session.data(for: HTTPRequest(.get, to: url)) }
      }
      try await server.waits(for: limit)
      server.open()
      try await group.waitForAll()
    }
    return server.now
  }

  @Test func `the limits of connections to a host and to all hosts hold`() async throws {
    let hosts = ["a.localhost", "b.localhost", "c.localhost", "d.localhost"]
    let perHost = try await requests(40, hosts: [hosts[0]], limit: 3, session { $0.maximumConnectionsPerHost = 3 })
    #expect((perHost.allConnections, perHost.mostRequests) == (3, 3))
    // The server may notice the end of a connection only after the next one has begun, so it cannot count connections
    // here. It notices its last answer earlier.
    let all = try await requests(40, hosts: hosts, limit: 2, session { $0.maximumConnections = 2 })
    #expect(all.mostRequests == 2)
  }

  @Test func `idle connections beyond the limit are closed`() async throws {
    let hosts = (0..<6).map { "h\($0).localhost" }
    for (limit, expected) in [(2, 12), (nil, 6)] {
      let session = try session {
        $0.maximumIdleConnections = limit
        $0.maximumConnectionsPerHost = 1
      }
      let server = try NginxServer(server: Self.facts)
      let port = try #require(server.url.port)
      var numbers: Set<String> = []
      for _ in 0..<2 {
        for host in hosts { numbers.insert(try await facts(URL(string: "http://\(host):\(port)/")!, session)[3]) }
      }
      #expect(numbers.count == expected, "\(limit ?? 0)")
    }
  }

  @Test func `a connection that was idle for too long, or is too old, is not used again`() async throws {
    let server = try NginxServer(server: Self.facts)
    let sessions = try [
      session { _ in }, session { $0.maximumIdleTime = .milliseconds(900) },
      session { $0.maximumConnectionAge = .seconds(1) },
      session { $0.maximumConnectionAge = .seconds(60) },
    ]
    var first: [String] = []
    for session in sessions { first.append(try await facts(server.url, session)[3]) }
    // libcurl counts in whole seconds of the kernel's clock. 2.1 seconds are more than one of them, whenever they
    // begin.
    let mute = try ScriptedServer { connection, _ in connection.waitForEnd() }
    defer { mute.stop() }
    let error = await #expect(throws: HTTPError.self) {
      try await sessions[0].data(for: mute.url, options: .with { $0.timeout = .milliseconds(2_100) })
    }
    #expect(error?.kind == .timedOut)
    for (index, isUsedAgain) in [true, false, false, true].enumerated() {
      #expect(try await (facts(server.url, sessions[index])[3] == first[index]) == isUsedAgain, "session \(index)")
    }
  }

  @Test func `the kernel keeps connections alive as often as it was told`() async throws {
    let server = try NginxServer(server: Self.facts)
    for (interval, expected) in [(Duration?.none, nil), (.milliseconds(6_500), CInt(7))] {
      let session = try session { $0.keepAliveInterval = interval }
      _ = try await facts(server.url, session)
      let port = try #require(server.url.port)
      #expect(Self.keepAlive(ofConnectionsTo: UInt16(port)).contains(expected))
      session.invalidate()
      await session.waitUntilInvalidated()
    }
  }

  @Test func `packets have the mark of their kind, and the kernel's queue knows their rank`() async throws {
    let server = try NginxServer(server: Self.facts)
    for (type, mark, priority) in [
      (HTTPServiceType.standard, 0, 0), (.background, 1, 1), (.responsiveData, 18, 4), (.voice, 46, 6),
    ] as [(HTTPServiceType, CInt, CInt)] {
      let session = try session { $0.serviceType = type }
      _ = try await facts(server.url, session)
      let port = UInt16(try #require(server.url.port))
      let ranks = Self.options(ofConnectionsTo: port) { option in
        [option(CInt(IPPROTO_IP), IP_TOS), option(SOL_SOCKET, SO_PRIORITY)]
      }
      #expect(ranks.contains([mark << 2, priority]), "\(ranks)")
      session.invalidate()
      await session.waitUntilInvalidated()
    }
  }

  /// Returns the keep-alive interval of each connection of this process to a port, in seconds. Nil for a connection
  /// without keep-alive, -1 if its idle time and its interval differ.
  private static func keepAlive(ofConnectionsTo port: UInt16) -> [CInt?] {
    options(ofConnectionsTo: port) { option -> CInt? in
      guard option(SOL_SOCKET, SO_KEEPALIVE) != 0 else { return CInt?.none }
      let (idle, interval) = (option(CInt(IPPROTO_TCP), TCP_KEEPIDLE), option(CInt(IPPROTO_TCP), TCP_KEEPINTVL))
      return idle == interval ? idle : -1
    }
  }

  /// Returns the result of `read` for each connection of this process to a port.
  private static func options<Value>(
    ofConnectionsTo port: UInt16, _ read: (_ option: (_ level: CInt, _ option: CInt) -> CInt) -> Value
  ) -> [Value] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.compactMap { CInt($0) }.compactMap { descriptor in
      var name = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isConnected = unsafe withUnsafeMutablePointer(to: &name) { name in
        unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe getpeername(descriptor, $0, &length) == 0
        }
      }
      guard isConnected, name.sin_family == AF_INET, UInt16(bigEndian: name.sin_port) == port else { return nil }
      func option(_ level: CInt, _ option: CInt) -> CInt {
        var value: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        unsafe getsockopt(descriptor, level, option, &value, &size)
        return value
      }
      return read(option)
    }
  }

  // MARK: Refused

  @Test func `a configuration that cannot be used is refused with the property's name`() throws {
    let changes: [(String, (inout HTTPSessionConfiguration) -> Void)] = [
      ("maximumConnectionsPerHost", { $0.maximumConnectionsPerHost = 0 }),
      ("maximumConnectionsPerHost", { $0.maximumConnectionsPerHost = .min }),
      ("maximumConnections", { $0.maximumConnections = -1 }),
      ("maximumIdleConnections", { $0.maximumIdleConnections = 0 }),
      ("maximumIdleTime", { $0.maximumIdleTime = .seconds(-1) }),
      ("maximumConnectionAge", { $0.maximumConnectionAge = .zero }),
      ("keepAliveInterval", { $0.keepAliveInterval = .zero }),
      ("keepAliveInterval", { $0.keepAliveInterval = .seconds(-5) }),
      ("unixSocketPath", { $0.unixSocketPath = "" }),
      ("unixSocketPath", { $0.unixSocketPath = String(repeating: "x", count: 108) }),
      ("unixSocketPath", { $0.unixSocketPath = "a\0b" }),
      (
        "unixSocketPath",
        {
          $0.unixSocketPath = "/run/it"
          $0.proxy = .http("proxy", port: 1)
        }
      ),
      (
        "unixSocketPath",
        {
          $0.unixSocketPath = "/run/it"
          $0.localEndpoint = .interface("lo")
        }
      ),
      ("localEndpoint", { $0.localEndpoint = .interface("") }),
      ("localEndpoint", { $0.localEndpoint = .interface("sixteen-letters-") }),
      ("localEndpoint", { $0.localEndpoint = .interface("a b") }),
      ("localEndpoint", { $0.localEndpoint = .address(.v4(0)) }),
      ("addressOverrides", { $0.addressOverrides = ["": [.v6(1)]] }),
      ("addressOverrides", { $0.addressOverrides = ["a": []] }),
      ("addressOverrides", { $0.addressOverrides = ["127.0.0.1": [.v6(1)]] }),
      ("addressOverrides", { $0.addressOverrides = ["localhost": [.v6(1)]] }),
      ("addressOverrides", { $0.addressOverrides = ["https://a": [.v6(1)]] }),
    ]
    for (name, change) in changes {
      let error = #expect(throws: HTTPError.self) { try session(change) }
      #expect(error?.kind == .badConfiguration, "\(name)")
      #expect(error?.message.hasPrefix("\(name): ") ?? false, "\(error?.message ?? "")")
    }
    for time in [Duration.seconds(Int64.max), .milliseconds(1)] {
      #expect(throws: Never.self) {
        try session {
          $0.maximumIdleTime = time
          $0.maximumConnectionAge = time
          $0.keepAliveInterval = time
        }
      }
    }
  }
}

/// A path source of a machine that is offline.
private final class NoPath: PathSource {
  var hasPath: Bool { false }
  func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable { self }
}
