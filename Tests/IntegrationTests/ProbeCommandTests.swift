import Foundation
import Glibc
import Testing

/// `--probe` in each command and format.
@Suite struct ProbeCommandTests {
  @Test func `status waits for the answer, and says it in words`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    for (answer, words, check) in [
      ("204", "internet: full", 0), ("302", "behind a login page (captive portal), http://10.0.0.2/login", 1),
      ("close", "no internet", 1),
      ("500", "internet: unknown", 1),
    ] as [(String, String, CInt)] {
      try server.answer(answer)
      let status = try ChildProcess.run(
        networks.near.command([Programs.netwatch, "status", "--format", "text", "--check", "--probe", AnswerServer.url])
      )
      #expect(status.output.first?.hasSuffix("  \(words)") == true, "\(status.output)")
      #expect(status.ending == .exited(check))
    }
    try networks.far.run("ip link set v1 down")
    let status = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "--json", "--check", "--probe", AnswerServer.url]))
    #expect(try Line(#require(status.output.first)).internet == "none")
    #expect(status.ending == .exited(1))
  }

  @Test func `bars and metrics show it`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "302")
    let arguments = ["status", "--probe", AnswerServer.url]
    let bar = try ChildProcess.run(
      networks.near.command([Programs.netwatch] + arguments + ["--format", "polybar", "--hide-when", "reachable"]))
    #expect(bar.output == ["%{F#cc79a7}◐ v0 login%{F-}"])
    let metrics = try ChildProcess.run(networks.near.command([Programs.netwatch] + arguments + ["--prometheus"]))
    #expect(metrics.output.contains("netwatch_internet{access=\"portal\"} 1"))
    #expect(metrics.output.contains("netwatch_internet{access=\"full\"} 0"))
    let follow = try ChildProcess(
      networks.near.command([
        Programs.netwatch, "-f", "--probe", AnswerServer.url, "--probe-interval", "0.1", "--format", "dwm",
      ]))
    #expect(try follow.nextLine() == "● v0")
    #expect(try follow.nextLine() == "◐ v0 login")
    try server.answer("close")
    #expect(try follow.nextLine() == "◌ v0 no internet")
    try server.answer("204")
    #expect(try follow.nextLine() == "● v0")
  }

  @Test func `status shows the path as it is at the end of the probe`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let status = try ChildProcess(
      networks.near.command([Programs.netwatch, "status", "--json", "--probe", AnswerServer.url]))
    try server.nextRequest()
    try networks.far.run("ip link set v1 down")
    let line = try Line(#require(try status.nextLine()))
    #expect(line.summary == "not-reachable no_carrier -")
    #expect(line.event == "initial")
    #expect(line.internet == "none")
    #expect(try status.wait() == .exited(0))
  }

  @Test func `wait waits for the internet`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "302")
    let wait = try ChildProcess(
      networks.near.command([
        Programs.netwatch, "wait", "--json", "--probe", AnswerServer.url, "--probe-interval", "0.1",
      ]))
    for _ in 0..<3 { try server.nextRequest() }
    try server.answer("204")
    let line = try Line(#require(try wait.nextLine()))
    #expect(line.internet == "full")
    #expect(try wait.wait() == .exited(0))
    try server.answer("302")
    let late = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "wait", "--json", "-t", "1", "--probe", AnswerServer.url]))
    #expect(late.ending == .exited(1))
    #expect(try Line(#require(late.output.first)).internet == "portal")
  }

  @Test func `with a service the probe is the follower's own`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    let service = try RunningService(in: networks.near)
    let follow = try service.follow("--probe", AnswerServer.url)
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.next().internet == "full")
    let client = try service.client()
    client.send("{\"begin\":\"a\"}")
    let busy = try follow.next()
    #expect(busy.event == "activity")
    #expect(busy.internet == "full")
    #expect(busy.sequence == 3)
    try server.nextRequest()
    // The service is killed. The finding of the probe still holds, because the path is the same.
    #expect(service.process.children == [])
    try service.kill()
    var line = try follow.next()
    while line.event == "activity" {
      #expect(line.internet == "full")
      if line.reason == "service_lost" { try networks.far.run("ip link set v1 down") }
      line = try follow.next()
    }
    #expect(line.summary == "not-reachable no_carrier -")
    #expect(line.internet == "none")
    withExtendedLifetime((server, client)) {}
  }

  @Test func `hooks and probes do not take each other's ends`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "302")
    let follow = try networks.followProbing(
      "--probe-interval", "0.1", "--exec", "echo $NETWATCH_REASON $NETWATCH_INTERNET")
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.process.nextErrorLine() == "initial unknown")
    for (answer, internet) in [("204", "full"), ("302", "portal"), ("204", "full"), ("302", "portal")] {
      try server.answer(answer)
      var line = try follow.next()
      // The first line may still show the answer from before.
      if line.internet != internet { line = try follow.next() }
      #expect(line.internet == internet)
      while try follow.process.nextErrorLine() != "internet_changed \(internet)" {}
    }
    try follow.waitUntilChildless(butFor: 1)
  }

  @Test(arguments: [
    ["--record", "/nonexistent/x", "-f", "--probe", AnswerServer.url],
    ["serve", "--probe", AnswerServer.url],
    ["replay", "--probe", AnswerServer.url, "x"], ["snippet", "--probe", "http://10.0.0.2/?a=$(id)", "waybar"],
    ["-f", "--probe-interval", "5"],
    ["-f", "--probe-expect", "x"], ["-f", "--probe-timeout", "5"],
    ["status", "--probe", AnswerServer.url, "--probe-interval", "5"],
    ["--probe", AnswerServer.url, "--probe-interval", "5"],
    ["wait", "--for", "not-reachable", "--probe", AnswerServer.url],
    ["-f", "--probe", "10.0.0.2"], ["-f", "--probe", "ftp://10.0.0.2/"], ["-f", "--probe", "http:///x"],
    ["-f", "--probe", "http://a b/"], ["-f", "--probe", AnswerServer.url, "--probe-interval", "0.01"],
    ["-f", "--probe", AnswerServer.url, "--probe-timeout", "0"],
    ["-f", "--probe", AnswerServer.url, "--probe-expect", ""],
    ["run", "--probe", AnswerServer.url, "--", "true"],
  ])
  func `what makes no sense is refused`(arguments: [String]) throws {
    let result = try ChildProcess.run([Programs.netwatch] + arguments)
    #expect(result.ending == .exited(64))
    #expect(result.output == [])
    #expect(result.error.contains("probe"), "\(result.error)")
  }
}
