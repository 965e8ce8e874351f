import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// The helper process that makes a probe (netwatch-http): netwatch ends, replaces and reaps it, and works without it.
@Suite struct ProbeHelperTests {
  @Test func `without the helper one sentence says so, and all else works`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    let sentence =
      "netwatch: --probe needs netwatch-http, which is not here; install netwatch's package, or put netwatch-http beside netwatch."
    let follow = try Follow(
      ChildProcess(networks.near.command([program, "-f", "--json", "--probe", AnswerServer.url, "--count", "3"])))
    #expect(try follow.next().internet == "unknown")
    try networks.far.run("ip link set v1 down")
    #expect(try follow.next().internet == "none")
    try networks.far.run("ip link set v1 up")
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.process.wait() == .exited(0))
    #expect(try follow.process.errorText() == sentence)
    // Commands that need only the answer fail.
    for command in ["status", "wait"] {
      let result = try ChildProcess.run(
        networks.near.command([program, command, "--json", "--probe", AnswerServer.url]))
      #expect(result.ending == .exited(2))
      #expect(result.output == [])
      #expect(result.error == sentence)
    }
  }

  @Test func `a helper that cannot be loaded is told in a sentence, once`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    let complaint = "netwatch-http: error while loading shared libraries: libcurl.so.4: cannot open shared object file"
    try folder.installHelper("echo started >>\(folder.file("starts")); echo '\(complaint)' >&2; exit 127")
    let follow = try Follow(
      ChildProcess(
        networks.near.command([program, "-f", "--json", "--probe", AnswerServer.url, "--probe-interval", "0.1"])))
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.process.nextErrorLine() == "netwatch: --probe: netwatch-http cannot run: \(complaint)")
    func starts() throws -> Int {
      try String(contentsOfFile: folder.file("starts"), encoding: .utf8).split(separator: "\n").count
    }
    try eventually(starts()) { $0 >= 5 }
    follow.process.signal(SIGTERM)
    #expect(try follow.process.errorText() == "")
    #expect(try follow.process.nextLine() == nil)
    let status = try ChildProcess.run(networks.near.command([program, "status", "--probe", AnswerServer.url]))
    #expect(status.ending == .exited(2))
    #expect(status.output == [])
    #expect(status.error == "netwatch: --probe: netwatch-http cannot run: \(complaint)")
  }

  @Test(arguments: [
    (
      // The loader of glibc prints these lines in an order that is not that of the versions.
      "p: /lib/libm.so.6: version `GLIBC_2.29' not found (required by p)\np: /lib/libc.so.6: version `GLIBC_2.34' not found "
        + "(required by p)\np: /lib/libc.so.6: version `GLIBC_2.4' not found (required by p)",
      "netwatch-http needs glibc 2.34 or later, and this one is older; use a newer release of this distribution"
    ),
    ("netwatch: netwatch-http needs another libcurl", "netwatch-http needs another libcurl"),
    ("", "netwatch-http cannot run: it says nothing"),
  ])
  func `a helper that cannot run is told in one sentence`(output: String, sentence: String) throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    try output.write(toFile: folder.file("output"), atomically: true, encoding: .utf8)
    try folder.installHelper("cat \(folder.file("output")) >&2; exit 2")
    let status = try ChildProcess.run(networks.near.command([program, "status", "--probe", AnswerServer.url]))
    #expect(status.ending == .exited(2))
    #expect(status.output == [])
    #expect(status.error == "netwatch: --probe: \(sentence)")
  }

  @Test(arguments: [
    // The first change makes the helper need a newer glibc. With the second one, the kernel does not find the loader,
    // as on a system without glibc.
    ("GLIBC_2[.]34/GLIBC_9.34", "glibc 9.34 or later, and this one is older; use a newer release of this distribution"),
    ("ld-linux-/ld-nobod-", "glibc, which is not here; the rest of netwatch does without it"),
  ])
  func `a helper that needs another glibc is told in one sentence`(change: String, sentence: String) throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    let helper = try folder.install(Programs.netwatchHTTP)
    #expect(try ChildProcess.run(["sed", "-i", "s/\(change)/", helper]).ending == .exited(0))
    for command in [["get", "http://127.0.0.1/it"], ["status", "--probe", AnswerServer.url]] {
      let result = try ChildProcess.run(networks.near.command([program] + command))
      let mark = command[0] == "get" ? "" : "--probe: "
      #expect(result.ending == .exited(2))
      #expect(result.output == [])
      #expect(result.error == "netwatch: \(mark)netwatch-http needs \(sentence)")
    }
  }

  @Test func `a helper that is killed leaves nothing known, and no zombie`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let follow = try networks.followProbing("--probe-interval", "0.1", "--probe-timeout", "1000")
    _ = try follow.next()
    try server.nextRequest()
    try server.answer("302")
    kill(try #require(follow.process.children.first), SIGKILL)
    #expect(
      try follow.process.nextErrorLine() == "netwatch: --probe: netwatch-http was ended by signal \(SIGKILL)")
    let line = try follow.next()
    #expect(line.internet == "portal")
    try server.answer("hang")
    try server.nextRequest()
    kill(try #require(follow.process.children.first), SIGKILL)
    #expect(try follow.next().internet == "unknown")
    try server.answer("204")
    #expect(try follow.next().internet == "full")
    try server.answer("hang")
    try server.nextRequest()
    // The killed helpers have been reaped: only the one that runs is left.
    #expect(follow.process.children.count == 1)
  }

  @Test func `a helper that does not give up is ended`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    try folder.installHelper("exec sleep 1000")
    let status = try ChildProcess.run(
      networks.near.command([program, "status", "--json", "--probe", AnswerServer.url, "--probe-timeout", "0.1"]))
    #expect(status.ending == .exited(0))
    #expect(try Line(#require(status.output.first)).internet == "unknown")
  }

  @Test(arguments: ["reader", "SIGTERM", "SIGKILL", "count"])
  func `no helper outlives netwatch`(end: String) throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let options = end == "count" ? ["--count", "2"] : []
    let process = try ChildProcess(
      networks.near.command(
        [Programs.netwatch, "-f", "--json", "--probe", AnswerServer.url, "--probe-timeout", "1000"] + options))
    _ = try process.nextLine()
    try server.nextRequest()
    switch end {
    case "reader": process.closeOutput()
    case "SIGTERM": process.signal(SIGTERM)
    case "SIGKILL": process.signal(SIGKILL)
    default:
      try networks.near.run("ip addr add 10.0.0.7/24 dev v0", "ip route replace default via 10.0.0.2 src 10.0.0.7")
    }
    _ = try process.wait()
    try server.clientLeaves()
  }

  @Test func `netwatch itself maps no libcurl, and starts nothing unless it is to probe`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let plain = try networks.near.follow()
    _ = try plain.next()
    #expect(plain.process.children == [])
    #expect(plain.internets == [nil])
    let probing = try networks.followProbing()
    _ = try probing.next()
    try server.nextRequest()
    #expect(probing.process.children.count == 1)
    let helper = try #require(probing.process.children.first)
    for (process, maps) in [(plain.process.pid, false), (probing.process.pid, false), (helper, true)] {
      let found = try ChildProcess.run(["grep", "-m", "1", "-o", "libcurl", "/proc/\(process)/maps"])
      #expect(found.output == (maps ? ["libcurl"] : []))
    }
  }
}
