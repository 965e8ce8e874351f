import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Two networks with a cable between them: programs run in `near`, servers in `far`, which has 10.0.0.2 and fd00::2.
final class TwoNetworks {
  let near: NetworkNamespace
  let far: NetworkNamespace

  init() throws {
    near = try NetworkNamespace()
    far = try NetworkNamespace(beside: near)
    try near.configure("link add v0 type veth peer name v1 netns \(far.pid)")
    try far.configure("addr add 10.0.0.2/24 dev v1", "addr add fd00::2/64 dev v1 nodad", "link set v1 up")
    try near.configure(
      "addr add 10.0.0.1/24 dev v0", "addr add fd00::1/64 dev v0 nodad", "link set v0 up",
      "route add default via 10.0.0.2")
    try near.waitUntilRunning("v0")
  }

  /// A program in `near`.
  func start(_ arguments: String...) throws -> ChildProcess { try ChildProcess(near.command(arguments)) }

  /// Clients of the slow server that stay, once they are all connected.
  func clients(_ count: Int, of path: String, host: String = "10.0.0.2") throws -> ChildProcess {
    let process = try start(Programs.probe, "clients", host, "\(count)", path)
    guard try process.nextLine() == "ready" else { throw TestFailure("no clients: \(try process.errorText())") }
    return process
  }

  func slowServer() throws -> SlowServer { try SlowServer(in: far) }

  /// nginx at port 8080, which sends `name` with so many bytes a second.
  func nginx(_ folder: TemporaryFolder, bytesPerSecond: Int) throws -> ChildProcess {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder.file($0));" }.joined()
    try """
    daemon off; master_process off; pid \(folder.file("pid")); error_log stderr;
    events {}
    http {
      access_log off; \(temporary)
      server { listen 8080; root \(folder.path); limit_rate \(bytesPerSecond); keepalive_requests 1000; }
    }
    """.write(toFile: folder.file("nginx.conf"), atomically: true, encoding: .utf8)
    try requireProgram("nginx")
    let server = try ChildProcess(far.command(["nginx", "-c", folder.file("nginx.conf")]))
    try far.run("until ss -Hltn | grep -q :8080; do sleep 0.02; done")
    return server
  }
}

/// The probe's, in `far`.
final class SlowServer {
  private let process: ChildProcess

  init(in network: NetworkNamespace) throws {
    process = try ChildProcess(network.command([Programs.probe, "slow-server"]))
    guard try process.nextLine() == "ready" else { throw TestFailure("no server: \(try process.errorText())") }
  }

  /// Answers all that ask for `/wait/go` or `/drip/go` at this moment.
  func answer() { process.write("go\n") }

  /// When it was asked next, or answered: nanoseconds on the monotonic clock.
  func next(_ what: String) throws -> Int {
    while let line = try process.nextLine() {
      let words = line.split(separator: " ")
      if words.first.map(String.init) == what { return words.count > 1 ? Int(words[1]) ?? 0 : 0 }
    }
    throw TestFailure("the server has ended: \(try process.errorText())")
  }
}
