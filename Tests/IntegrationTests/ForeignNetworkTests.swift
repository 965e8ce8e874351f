import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// `--netns`: the command enters another network namespace.
@Suite struct ForeignNetworkTests {
  /// Returns a process in a namespace, which lives until it is killed.
  private func sleeper(in namespace: NetworkNamespace) throws -> ChildProcess {
    let process = try ChildProcess(namespace.command(["sh", "-c", "echo ready; exec sleep infinity"]))
    try process.wait(for: "ready")
    return process
  }

  private func netwatch(_ arguments: String...) throws -> (ending: ChildProcess.Ending, output: [String], error: String)
  {
    try ChildProcess.run([Programs.netwatch] + arguments)
  }

  @Test func `the namespace of a process is judged, and its end is a line`() throws {
    let namespace = try NetworkNamespace.online()
    let process = try sleeper(in: namespace)
    let place = "\(process.pid)"
    #expect(try netwatch("status", "--netns", place).output.first?.contains("v0") == true)
    #expect(try netwatch("explain", "--netns", place).output.contains { $0.contains("dev v0") })
    #expect(try netwatch("--check", "--netns", place, "--for", "medium=virtual", "-q").ending == .exited(0))
    let folder = try TemporaryFolder()
    let trace = folder.file("trace")
    let follow = try Follow(ChildProcess([Programs.netwatch, "-f", "--json", "--record", trace, "--netns", place]))
    #expect(try follow.summary() == "wifi initial v0")
    // What happens there is told, and hooks are there too.
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    process.signal(SIGKILL)
    #expect(try follow.summary() == "unknown namespace_ended -")
    #expect(try follow.process.wait() == .exited(0))
    _ = try process.wait()
    #expect(try netwatch("replay", "--json", trace).output == follow.lines.map(\.text))
    let gone = try netwatch("status", "--netns", place)
    #expect(gone.ending == .exited(2))
    #expect(gone.error.contains("there is no process \(place); give --netns one that runs"), "\(gone.error)")
  }

  @Test func `whoever waits in a namespace is told that it is gone`() throws {
    let namespace = try NetworkNamespace()
    let process = try sleeper(in: namespace)
    let wait = try ChildProcess([Programs.netwatch, "wait", "--netns", "\(process.pid)"])
    let service = try ChildProcess(
      [Programs.netwatch, "serve", "--netns", "\(process.pid)", "--socket", "/tmp/netwatch-\(process.pid).sock"])
    try eventually(FileManager.default.fileExists(atPath: "/tmp/netwatch-\(process.pid).sock")) { $0 }
    func network(of process: ChildProcess) -> String? {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process.pid)/ns/net")
    }
    try eventually(network(of: wait)) { $0 == network(of: process) }
    process.signal(SIGKILL)
    _ = try process.wait()
    #expect(try wait.wait() == .exited(1))
    #expect(try service.wait() == .exited(2))
    #expect(try service.errorText().contains("the network namespace of process \(process.pid) has ended"))
  }

  @Test func `a namespace with a name`() throws {
    let folder = try TemporaryFolder()
    // Names are kept in /run, which is another one here.
    let script = """
      mount -t tmpfs tmpfs /run
      ip netns add blue
      ip -n blue link add v0 type veth peer name v1
      ip -n blue link set v1 up
      ip -n blue link set v0 up
      ip -n blue addr add 10.0.0.1/24 dev v0
      ip -n blue route add default via 10.0.0.2
      '\(Programs.netwatch)' status --no-service --netns blue
      '\(Programs.netwatch)' status --netns red
      mkfifo '\(folder.file("lines"))'
      '\(Programs.netwatch)' -f --json --no-service --netns blue >'\(folder.file("lines"))' &
      { read -r line; echo "$line"; ip netns del blue; cat; } <'\(folder.file("lines"))'
      wait
      """
    let result = try ChildProcess.run(["unshare", "--mount", "--net", "sh", "-c", script])
    #expect(result.output.first?.contains("v0") == true, "\(result)")
    #expect(
      result.error.contains("the network namespace “red” does not exist; `ip netns` lists those that do"),
      "\(result.error)")
    #expect(result.output.contains { $0.contains("\"reason\":\"initial\"") })
    #expect(result.output.last?.contains("\"reason\":\"namespace_ended\"") == true, "\(result.output)")
  }

  @Test func `an ordinary user enters an own namespace, and no other`() throws {
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    let user = NetworkNamespace.isRoot ? ["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", "--"] : []
    let process = try ChildProcess(
      user + ["unshare", "--user", "--net", "--map-root-user", "sh", "-c", "echo ready; exec sleep infinity"])
    try process.wait(for: "ready")
    let own = try ChildProcess.run(user + [program, "status", "--json", "--no-service", "--netns", "\(process.pid)"])
    #expect(own.output.first?.contains("\"status\":\"not-reachable\"") == true, "\(own)")
    let other = try ChildProcess.run(user + [program, "status", "--no-service", "--netns", "1"])
    #expect(other.ending == .exited(2))
    #expect(other.error.contains("the network namespace of process 1 cannot be entered"), "\(other.error)")
    process.signal(SIGKILL)
    _ = try process.wait()
  }

  @Test func `what is no place is refused`() throws {
    for place in ["", "-1", "0", "a/b", ".."] {
      let result = try netwatch("status", "--netns=\(place)")
      #expect(result.ending == .exited(64), "\(place): \(result)")
    }
  }
}
