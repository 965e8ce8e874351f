import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Two network namespaces that a veth pair connects. Programs run in `near`, which has 10.0.0.1 and fd00::1. Servers
/// run in `far`, which has 10.0.0.2 and fd00::2.
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

  /// Starts a program in `near`.
  func start(_ arguments: String...) throws -> ChildProcess { try ChildProcess(near.command(arguments)) }

  /// Starts clients of the slow server that stay connected, and waits until all of them are connected.
  func clients(_ count: Int, of path: String, host: String = "10.0.0.2") throws -> ChildProcess {
    let process = try start(Programs.probe, "clients", host, "\(count)", path)
    guard try process.nextLine() == "ready" else { throw TestFailure("no clients: \(try process.errorText())") }
    return process
  }

  func slowServer() throws -> SlowServer { try SlowServer(in: far) }

  /// Starts nginx at port 8080 of `far`. It serves the files of a folder, each response with at most this many bytes a
  /// second.
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

/// The `slow-server` of NetwatchProbe, which answers at port 80 of a network namespace.
final class SlowServer {
  private let process: ChildProcess

  init(in network: NetworkNamespace) throws {
    process = try ChildProcess(network.command([Programs.probe, "slow-server"]))
    guard try process.nextLine() == "ready" else { throw TestFailure("no server: \(try process.errorText())") }
  }

  /// Has the server answer all requests for `/wait/go` and `/drip/go` that wait at this moment.
  func answer() { process.write("go\n") }

  /// Waits for the next line of the server that begins with a word, and returns the time in that line.
  ///
  /// - Parameter what: The word: `asked`, `answered`, or `pong`, which has no time.
  /// - Returns: The time in nanoseconds on the monotonic clock; 0 if the line has none.
  func next(_ what: String) throws -> Int {
    while let line = try process.nextLine() {
      let words = line.split(separator: " ")
      if words.first.map(String.init) == what { return words.count > 1 ? Int(words[1]) ?? 0 : 0 }
    }
    throw TestFailure("the server has ended: \(try process.errorText())")
  }
}
