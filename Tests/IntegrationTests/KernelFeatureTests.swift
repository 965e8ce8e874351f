import Glibc
import NetwatchTestSupport
import Testing

/// Tests of features that the kernel may lack, and of requests that it may refuse.
@Suite struct KernelFeatureTests {
  @Test(arguments: ["filter", "strict", "generic"])
  func `without an optional feature every change is told rightly`(_ feature: String) throws {
    let namespace = try NetworkNamespace.online()
    try namespace.addSecondUplink()
    let follow = Follow(
      try ChildProcess(
        namespace.command([Programs.sandbox, feature, Programs.netwatch, "--follow", "--json", "--ignore", "x*"])))
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip route del default dev v0")
    #expect(try follow.summary() == "wifi route_up w0")
    try namespace.run("ip route add unreachable default metric 1")
    #expect(try follow.summary() == "not-reachable route_unreachable -")
    try namespace.run("ip route del unreachable default metric 1")
    #expect(try follow.summary() == "wifi route_up w0")
    try namespace.run("ip addr del 10.1.0.1/24 dev w0")
    #expect(try follow.summary() == "not-reachable no_address -")
    #expect(try follow.isQuiet(in: namespace))
    follow.process.signal(15)
    // Without `-v` netwatch does not report what the kernel lacks.
    #expect(try follow.process.errorText() == "")
  }

  @Test(arguments: ["filter", "strict"])
  func `links that count, and a tunnel, are found without it too`(_ feature: String) throws {
    let namespace = try NetworkNamespace.online()
    try namespace.addSecondUplink()
    let tunnel = try namespace.addTunnel("tun0")
    let status = [Programs.sandbox, feature, Programs.netwatch, "status", "--json", "--no-service"]
    func summary(_ arguments: String...) throws -> String {
      let result = try ChildProcess.run(namespace.command(status + arguments))
      return try Line(#require(result.output.first)).summary
    }
    #expect(try summary() == "wifi initial v0")
    #expect(try summary("--ignore", "v0") == "wifi initial w0")
    #expect(try summary("--interface", "w*") == "wifi initial w0")
    #expect(try summary("--target", "203.0.113.9:443") == "wifi initial v0")
    try namespace.run("ip route add 0.0.0.0/1 dev tun0", "ip route add 128.0.0.0/1 dev tun0")
    #expect(try summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try summary() == "not-reachable no_carrier -")
    tunnel.closeInput()
  }

  @Test(arguments: [("filter", "no socket filter here"), ("strict", "no strict checking of requests here")])
  func `-v reports once what the kernel lacks`(_ feature: String, _ beginning: String) throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      namespace.command([Programs.sandbox, feature, Programs.netwatch, "status", "--no-service", "-v"]))
    #expect(result.ending == .exited(0))
    let told = result.error.split(separator: "\n").filter { $0.contains(beginning) }
    #expect(told.count == 1, "\(result.error)")
    let whole = try ChildProcess.run(namespace.command([Programs.netwatch, "status", "--no-service", "-v"]))
    #expect(whole.error == "")
  }

  @Test(arguments: [["wait"], ["explain"]])
  func `-v of other commands reports once what the kernel lacks`(_ command: [String]) throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      namespace.command([Programs.sandbox, "filter", Programs.netwatch] + command + ["-v"]))
    #expect(result.ending == .exited(0))
    #expect(result.error.split(separator: "\n").filter { $0.contains("no socket filter here") }.count == 1)
    let whole = try ChildProcess.run(namespace.command([Programs.netwatch] + command + ["-v"]))
    #expect(whole.error == "")
  }

  @Test func `-v of the service reports once what the kernel lacks`() throws {
    let service = try RunningService("-v", shell: "exec '\(Programs.sandbox)' filter \"$@\"")
    #expect(try service.follow().summary() == "wifi initial v0")
    service.process.signal(SIGTERM)
    #expect(try service.process.wait() == .exited(0))
    #expect(
      try service.process.errorText().split(separator: "\n").filter { $0.contains("no socket filter here") }.count == 1)
  }

  @Test(arguments: [["--follow", "--exec", "true"], ["status", "--probe", "http://10.0.0.9/"]])
  func `what starts a program says that the kernel is too old for it`(_ command: [String]) throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(namespace.command([Programs.sandbox, "pidfd", Programs.netwatch] + command))
    #expect(result.ending == .exited(2))
    #expect(result.output == [])
    #expect(result.error == "netwatch: \(command.dropFirst().first ?? "") needs Linux 5.3 or later")
    let run = [Programs.sandbox, "pidfd", Programs.netwatch, "run", "--", "echo", "all the same"]
    #expect(try ChildProcess.run(namespace.command(run)).output == ["all the same"])
  }

  @Test(arguments: ["lookup", "list"])
  func `a refused question ends it, with the kernel's own reason`(_ question: String) throws {
    let namespace = try NetworkNamespace.online()
    for arguments in [["status", "--no-service"], ["--follow", "--no-service"], ["wait", "-t", "30"]] {
      let result = try ChildProcess.run(
        namespace.command([Programs.sandbox, question, Programs.netwatch] + arguments))
      #expect(result.ending == .exited(2))
      #expect(result.output == [])
      #expect(result.error.contains("send: Operation not permitted"), "\(result.error)")
    }
  }

  /// The programs that are tested without /proc. The guest has no libcurl, and therefore no netwatch-http.
  private static let commands =
    [
      ["netwatch", "--check", "--for", "ssid=Nowhere"], ["netwatch", "run", "--", "false"], ["netwatch"],
      ["netwatch", "get", "http://127.0.0.1/"], ["netwatch-log", "log"],
    ] + (Guest.isHere ? [] : [["netwatch-http", "get", "http://127.0.0.1/"]])

  /// On Linux, Swift reads a program's arguments from /proc. Without the arguments, `--check` would succeed and `run`
  /// would not run its command.
  @Test(arguments: commands)
  func `without proc, no program does anything but say so`(_ command: [String]) throws {
    let namespace = try NetworkNamespace.online()
    let program = Programs.folder + "/" + command[0]
    let script = ["unshare", "--mount", "sh", "-c", "umount -l /proc && exec \"$@\"", "sh", program]
    let result = try ChildProcess.run(namespace.command(script + command.dropFirst()))
    #expect(result.ending == .exited(2))
    #expect(result.output == [])
    #expect(result.error == "netwatch: cannot read the arguments, because there is no /proc; mount it, and try again")
  }
}
