import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// What other users may do on the machine's socket, and who sees labels. Only root can become another user.
@Suite struct ServiceRightsTests {
  @Test func `a stranger may look, but neither begin nor end`() throws {
    guard geteuid() == 0 else { return }
    let service = try SystemService()
    let root = try service.rootClient()
    _ = try root.next()
    root.send("{\"begin\":\"a\",\"label\":\"secret\"}")
    #expect(try root.next().inFlight == 1)
    let stranger = try service.client(of: 1_000)
    #expect(try stranger.nextLine()?.contains("\"event\":\"initial\"") == true)
    stranger.write("{\"events\":false}\n{\"begin\":\"a\"}\n{\"end\":\"a\"}\n{\"end\":\"b\"}\n{\"stats\":1}\n")
    var answers: [String] = []
    while answers.count < 4, let line = try stranger.nextLine() {
      if !line.contains("\"event\"") { answers.append(line) }
    }
    #expect(answers[0] == "{\"v\":1,\"error\":\"only root and the service's own user may begin requests here\"}")
    #expect(answers[1] == "{\"v\":1,\"error\":\"only root and the service's own user may end requests here\"}")
    #expect(answers[2] == answers[1])
    // The stranger gets the number of requests, but not their labels.
    #expect(answers[3].contains(",\"requests\":1,\"labels\":[],"), "\(answers[3])")
    root.send("{\"stats\":1}")
    #expect(try root.answer().contains(",\"requests\":1,\"labels\":[{\"label\":\"secret\",\"requests\":1}],"))
    // The stranger's netwatch uses the answer of the service, because the service is root's.
    let status = try service.netwatch(as: 1_000, "--json")
    let line = try Line(#require(try status.nextLine()))
    #expect(line.summary == "wifi initial v0")
    #expect(line.inFlight == 1)
  }

  @Test func `a service that becomes another user has no rights of root, and everyone still believes it`() throws {
    guard geteuid() == 0 else { return }
    let service = try SystemService("--user", "nobody")
    let root = try service.rootClient()
    _ = try root.next()
    let facts = try String(contentsOfFile: "/proc/\(service.process.pid)/status", encoding: .utf8).split(
      separator: "\n")
    guard let nobody = unsafe getpwnam("nobody") else { throw TestFailure("there is no user nobody") }
    let (user, group) = unsafe (nobody.pointee.pw_uid, nobody.pointee.pw_gid)
    func fact(_ name: String) -> String? {
      facts.first { $0.hasPrefix(name + ":") }?.dropFirst(name.count + 1).split { $0 == "\t" || $0 == " " }.joined(
        separator: " ")
    }
    #expect(fact("Uid") == "\(user) \(user) \(user) \(user)")
    #expect(fact("Gid") == "\(group) \(group) \(group) \(group)")
    #expect(fact("Groups") == "")
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] { #expect(fact(set) == "0000000000000000", "\(set)") }
    root.send("{\"begin\":\"a\"}")
    #expect(try root.next().inFlight == 1)
    let status = try service.netwatch(as: 1_000, "--json")
    #expect(try Line(#require(try status.nextLine())).inFlight == 1)
    // The service still receives the kernel's messages, and obeys root's signals.
    try service.namespace.run("ip link set v1 down")
    #expect(try root.next().status == "not-reachable")
    service.process.signal(SIGTERM)
    #expect(try service.process.wait() == .exited(0))
  }

  @Test func `a service that cannot become a user says why, and leaves no socket`() throws {
    let folder = try TemporaryFolder()
    let socket = folder.file("s")
    func failure(_ command: [String]) throws -> String {
      let result = try ChildProcess.run(command)
      #expect(result.ending == .exited(2))
      return result.error
    }
    let unknown = try failure([Programs.netwatch, "serve", "--socket", socket, "--user", "no one"])
    #expect(unknown.contains("/etc/passwd has no user 'no one'; add it, or name another with --user"))
    guard geteuid() == 0 else { return }
    let netwatch = try folder.install(Programs.netwatch)
    _ = unsafe chmod(folder.path, 0o777)
    let powerless = try failure([
      "setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--", netwatch, "serve", "--socket", socket,
      "--user", "nobody",
    ])
    #expect(powerless.contains("only root can become 'nobody'; start netwatch as root, or leave --user out"))
    #expect(!FileManager.default.fileExists(atPath: socket))
  }

  @Test func `strangers together leave a quarter of the connections`() throws {
    guard geteuid() == 0 else { return }
    let service = try SystemService("--connections", "8")
    var strangers: [ChildProcess] = []
    for number in 0..<8 {
      let client = try service.client(of: 1_000 + number / 2)
      let line = try #require(try client.nextLine())
      strangers.append(client)
      #expect(
        number < 6
          || line == #"{"v":1,"error":"users other than root and the service's have at most 6 of the 8 connections"}"#)
    }
    for _ in 0..<2 { #expect(try service.rootClient().next().event == "initial") }
    withExtendedLifetime(strangers) {}
  }

  @Test func `a stranger has a quarter of the connections, and the next one has his own`() throws {
    guard geteuid() == 0 else { return }
    let service = try SystemService("--connections", "12")
    func isWelcome(_ client: ChildProcess) throws -> Bool {
      let line = try #require(try client.nextLine())
      if line == "{\"v\":1,\"error\":\"a user has at most 3 of the 12 connections\"}" { return false }
      return try Line(line).event == "initial"
    }
    var strangers: [ChildProcess] = []
    for user in [1_000, 1_001] {
      for number in 0..<5 {
        let client = try service.client(of: user)
        #expect(try isWelcome(client) == (number < 3))
        if number < 3 { strangers.append(client) }
      }
    }
    let roots = try (0..<6).map { _ in try service.rootClient() }
    for root in roots { #expect(try root.next().event == "initial") }
    #expect(try service.rootClient().error() == "the service has 12 connections already")
    // A user who closes a connection makes room only for that user.
    roots[0].close()
    strangers.removeFirst()
    try eventually(isWelcome(service.client(of: 1_000))) { $0 }
    #expect(try !isWelcome(service.client(of: 1_001)))
    withExtendedLifetime((roots, strangers)) {}
  }

  @Test func `text with -v names the requests of the user`() throws {
    let service = try RunningService()
    let client = try service.client()
    client.send(
      "{\"events\":false}\n{\"begin\":\"a\",\"label\":\"back\\u001b[31mup\\u202e\"}\n{\"begin\":\"b\",\"label\":\"other\"}"
    )
    try client.ping()
    client.send("{\"begin\":\"c\",\"label\":\"other\"}")
    try client.ping()
    func text(_ arguments: String...) throws -> String {
      let command = service.namespace.command([Programs.netwatch, "--format", "text"] + arguments)
      let result = try ChildProcess.run(command, environment: service.environment + ["LC_ALL=C.UTF-8", "COLUMNS=500"])
      #expect(result.ending == .exited(0))
      return result.output.first ?? result.error
    }
    #expect(try text("-v").hasSuffix(" 3 in flight: “other” 2, “back?[31mup?” 1"))
    #expect(try text("-v", "--follow", "--count", "1").hasSuffix(" 3 in flight: “other” 2, “back?[31mup?” 1"))
    #expect(try text().hasSuffix(" 3 in flight"))
    #expect(try text("-v", "--no-service").hasSuffix("10.0.0.1"))
  }
}
