import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Which service a client believes: one of its own user or of root. The client uses its path only if both have the same
/// network.
@Suite struct ServiceTrustTests {
  /// Returns the beginning of a command that runs as another user. Only root can do that.
  private static func user(_ id: Int) -> [String] {
    ["setpriv", "--reuid=\(id)", "--regid=\(id)", "--clear-groups", "--"]
  }

  // MARK: The first line

  @Test func `the first line of a connection says whose network it is, and only that one`() throws {
    let service = try RunningService("--activity", "all")
    let client = try service.client()
    let namespace = service.namespace.identity
    let identity = "\"service\":{\"protocol\":1,\"version\":\"0.1.0\",\"namespace\":\(namespace),\"counts\":\"all\"}"
    #expect(try client.next().text.contains(identity))
    try service.namespace.run("ip link set v1 down")
    #expect(try !client.next().text.contains("\"service\""))
    // The client asks for the events again, and gets the whole first line at once.
    client.send("{\"events\":false}")
    try client.ping()
    client.send("{\"events\":true}")
    let again = try client.next()
    #expect(again.event == "initial")
    #expect(again.text.contains(identity))
    // The output of netwatch does not contain the key `service`.
    let follow = try service.follow()
    #expect(try !follow.next().text.contains("\"service\""))
  }

  // MARK: Networks

  @Test(arguments: [["unshare", "--net"], ["unshare", "--user", "--map-root-user", "--net"]])
  func `in another network namespace a client shows that one`(prefix: [String]) throws {
    let service = try RunningService()
    let command = service.namespace.command(prefix + [Programs.netwatch, "--check", "--json"])
    let result = try ChildProcess.run(command, environment: service.environment)
    #expect(result.ending == .exited(1))
    #expect(try Line(#require(result.output.first)).status == "not-reachable")
    let follow = try Follow(
      ChildProcess(
        service.namespace.command(prefix + [Programs.netwatch, "--follow", "--json"]),
        environment: service.environment))
    #expect(try follow.next().status == "not-reachable")
    // The follower does not report what happens in the service's network, but it reports the requests of the service's
    // clients.
    let client = try service.client()
    _ = try client.next()
    try service.namespace.run("ip link set v1 down")
    #expect(try client.next().status == "not-reachable")
    try service.namespace.run("ip link set v1 up")
    #expect(try client.next().status == "wifi")
    client.send("{\"begin\":\"a\"}")
    let line = try follow.next()
    #expect(line.summary == "not-reachable request_began -")
    #expect(line.inFlight == 1)
  }

  /// toolbox and distrobox run programs this way.
  @Test func `in a user namespace of its own, a client of the same network uses the service`() throws {
    let service = try RunningService()
    #expect(try Self.sequence(in: service, ["unshare", "--user", "--map-root-user"]) > 1)
    #expect(try Self.sequence(in: service, ["unshare", "--user", "--map-current-user"]) > 1)
    #expect(try Self.sequence(in: service, ["unshare", "--net"]) == 1)
  }

  @Test func `an ordinary user in a user namespace of his own uses the service`() throws {
    guard geteuid() == 0 else { return }
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    #expect(unsafe chmod(folder.path, 0o777) == 0)
    let namespace = try NetworkNamespace.online()
    let environment = ["NETWATCH_SOCKET=\(folder.file("s"))"]
    let service = try ChildProcess(
      namespace.command(Self.user(1_000) + [program, "serve"]), environment: environment)
    let client = try ServiceClientOfUser(1_000, folder, program: Programs.sandbox)
    try client.begin()
    let command = namespace.command(
      Self.user(1_000) + ["unshare", "--user", "--map-current-user", program, "--json"])
    let result = try ChildProcess.run(command, environment: environment)
    let line = try Line(#require(result.output.first))
    #expect(line.inFlight == 1)
    #expect(line.sequence ?? 0 > 1)
    withExtendedLifetime(service) {}
  }

  /// Returns the sequence number in the line of `netwatch status` after the service has published several lines. It is
  /// 1 if the path comes from netlink.
  private static func sequence(in service: RunningService, _ prefix: [String]) throws -> Int {
    let client = try service.client()
    _ = try client.next()
    client.send("{\"begin\":\"a\"}\n{\"events\":false}")
    try client.ping()
    let command = service.namespace.command(prefix + [Programs.netwatch, "--json"])
    let result = try ChildProcess.run(command, environment: service.environment)
    return try Line(#require(result.output.first)).sequence ?? 0
  }

  // MARK: Services that a test makes up

  /// A service that a test makes up. It claims to be reachable over `other0`.
  private struct Pretended {
    let process: ChildProcess
    let folder: TemporaryFolder
    let namespace: NetworkNamespace
    let netwatch: String
    var environment: [String] { ["NETWATCH_SOCKET=\(folder.file("s"))"] }

    /// - Parameters:
    ///   - user: The id of the user of the service. Default: that of the test.
    ///   - namesNamespace: Whether the line of the service has the key `service`.
    ///   - changes: The changes that are made to the line.
    init(user: Int? = nil, namesNamespace: Bool, _ changes: (String) -> String = { $0 }) throws {
      folder = try TemporaryFolder()
      namespace = try .online()
      netwatch = try folder.install(Programs.netwatch)
      let program = try folder.install(Programs.sandbox)
      guard unsafe chmod(folder.path, 0o777) == 0 else { throw TestFailure("chmod: \(errno)") }
      let prefix = user.map { ServiceTrustTests.user($0) } ?? []
      process = try ChildProcess(namespace.command(prefix + [program, "listen", folder.file("s")]))
      let identity = """
        ,"service":{"protocol":1,"version":null,"namespace":\(namespace.identity),"counts":"requests"}
        """
      let line = """
        {"v":1,"seq":7,"time":"2026-11-21T02:15:00.123456Z","mono_ns":812345678901,"event":"initial","reason":"initial","reachability":{"status":"wifi","medium":"wifi","interface":"other0","index":9,"expensive":false,"vpn":null,"ipv4":{"address":"10.9.0.1","gateway":null},"ipv6":null,"wifi":{"ssid":"a","ssid_hex":"61","signal_dbm":-52,"signal_percent":96}},"activity":{"state":"active","visible":true,"in_flight":3,"in_flight_by":{"requests":1,"tcp":2}}\(namesNamespace ? identity : "")}
        """
      process.write(changes(line) + "\n")
      guard try process.nextLine() == "ready" else { throw TestFailure("no service: \(try process.errorText())") }
    }

    /// Returns the interface that a client shows.
    func interface(_ prefix: [String] = []) throws -> String? {
      let result = try ChildProcess.run(namespace.command(prefix + [netwatch, "--json"]), environment: environment)
      return try Line(#require(result.output.first, "\(result.error)")).interface
    }
  }

  @Test func `a service that does not name its network is believed if its process shows the same one`() throws {
    let service = try Pretended(namesNamespace: false)
    #expect(try service.interface() == "other0")
    #expect(try service.interface(["unshare", "--net"]) == nil)
    #expect(try service.interface(["unshare", "--user", "--map-root-user", "--net"]) == nil)
    // Other users may not look into a process of root, nor may a process in another user namespace.
    guard geteuid() == 0 else { return }
    #expect(try service.interface(Self.user(1_000)) == "v0")
    #expect(try service.interface(["unshare", "--user", "--map-root-user"]) == "v0")
  }

  @Test(arguments: [
    "null", #"{"device":4}"#, #"{"device":-1,"inode":-1}"#, #"{"device":"4","inode":"5"}"#, #"{"device":1,"inode":1}"#,
    "[]",
  ])
  func `a service that names no network, or another one, is not believed`(namespace: String) throws {
    let service = try Pretended(namesNamespace: true) {
      $0.replacing(/"namespace":{[^}]*}/, with: "\"namespace\":\(namespace)")
    }
    #expect(try service.interface() == "v0")
  }

  @Test func `a service of this user or of root is believed, a stranger's is not`() throws {
    guard geteuid() == 0 else { return }
    let ofUser = try Pretended(user: 1_000, namesNamespace: true)
    #expect(try ofUser.interface(Self.user(1_000)) == "other0")
    #expect(try ofUser.interface(Self.user(1_000) + ["unshare", "--user", "--map-current-user"]) == "other0")
    #expect(try ofUser.interface(Self.user(1_001)) == "v0")
    #expect(try ofUser.interface() == "v0")
    let ofRoot = try Pretended(namesNamespace: true)
    #expect(try ofRoot.interface() == "other0")
    #expect(try ofRoot.interface(Self.user(1_000)) == "other0")
    // In its own user namespace, the client cannot distinguish root from other users.
    #expect(try ofRoot.interface(Self.user(1_000) + ["unshare", "--user", "--map-current-user"]) == "v0")
  }

  @Test func `a user without an id in his user namespace believes no service`() throws {
    guard geteuid() == 0 else { return }
    // In that user namespace, both users appear as 65534.
    let service = try Pretended(user: 1_000, namesNamespace: true)
    #expect(try service.interface(Self.user(65_534) + ["unshare", "--user"]) == "v0")
    #expect(try service.interface(Self.user(1_000) + ["unshare", "--user"]) == "v0")
  }

  // MARK: Numbers

  @Test(arguments: [
    (#""in_flight":3"#, #""in_flight":-9223372036854775808"#), (#""in_flight":3"#, #""in_flight":9223372036854775807"#),
    (#""in_flight":3"#, #""in_flight":1"#), (#""tcp":2"#, #""tcp":-9223372036854775808"#),
    (#""tcp":2"#, #""tcp":9223372036854775807"#), (#""index":9"#, #""index":0"#), (#""index":9"#, #""index":-1"#),
    (#""index":9"#, #""index":4294967297"#), (#""signal_dbm":-52"#, #""signal_dbm":-9223372036854775808"#),
    (#""mono_ns":812345678901"#, #""mono_ns":-1"#), (#""seq":7"#, #""seq":-9223372036854775808"#),
  ])
  func `a line with a number that cannot be is none`(old: String, new: String) throws {
    let service = try Pretended(namesNamespace: true) { $0.replacing(old, with: new) }
    #expect(try service.interface() == "v0")
    for format in ["json", "text", "waybar", "i3blocks", "tmux"] {
      let result = try ChildProcess.run(
        service.namespace.command([service.netwatch, "--follow", "--count", "1", "--format", format]),
        environment: service.environment)
      #expect(result.ending == .exited(0), "\(format) \(result.error)")
    }
  }
}

/// A client of a service that runs as another user.
private struct ServiceClientOfUser {
  private let process: ChildProcess

  init(_ user: Int, _ folder: TemporaryFolder, program: String) throws {
    let path = folder.file("s")
    try eventually(unsafe access(path, F_OK)) { $0 == 0 }
    let sandbox = try folder.install(program)
    #expect(unsafe chmod(folder.path, 0o777) == 0)
    process = try ChildProcess(
      ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--", sandbox, "connect", path])
  }

  func begin() throws {
    process.write("{\"begin\":\"a\"}\n")
    while let line = try process.nextLine() { if try Line(line).inFlight == 1 { return } }
  }
}
