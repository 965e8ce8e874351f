import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Two cables between two networks: programs run in `near`, whose uplinks are v0 (10.0.0.1, preferred) and w0 (10.1.0.1);
/// servers run in `far`, where 10.9.0.9 is reached over both.
final class TwoUplinks {
  let near: NetworkNamespace
  let far: NetworkNamespace
  let folder: TemporaryFolder
  private var server: Nginx?

  init() throws {
    near = try NetworkNamespace()
    far = try NetworkNamespace(beside: near)
    folder = try TemporaryFolder()
    try near.configure(
      "link add v0 type veth peer name v1 netns \(far.pid)", "link add w0 type veth peer name w1 netns \(far.pid)")
    try far.configure(
      "addr add 10.9.0.9/32 dev lo", "addr add 10.0.0.2/24 dev v1", "addr add 10.1.0.2/24 dev w1", "link set v1 up",
      "link set w1 up")
    try near.configure(
      "addr add 10.0.0.1/24 dev v0", "addr add 10.1.0.1/24 dev w0", "link set v0 up", "link set w0 up",
      "route add default via 10.0.0.2 dev v0 metric 100", "route add default via 10.1.0.2 dev w0 metric 200")
    try near.waitUntilRunning("v0")
    try near.waitUntilRunning("w0")
    try serve()
  }

  /// nginx at port 8080, and by HTTP/2 at 8443: the client's address, the server's at /once, where it hangs up,
  /// files that are sent slowly, and the slow server; at port
  /// 3128 a proxy. Each request is a line of the log.
  private func serve() throws {
    let certificate = try ChildProcess.run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
      "-subj",
      "/CN=far", "-keyout", folder.file("key.pem"), "-out", folder.file("certificate.pem"),
    ])
    guard certificate.ending == .exited(0) else { throw TestFailure("openssl: \(certificate.error)") }
    server = try Nginx(
      in: far, folder, port: 8080, log: "$remote_addr $request_method $request_uri $status $connection",
      servers: """
        server {
          listen 8080; listen [::]:8080; root \(folder.path);
          listen 8443 ssl http2;
          ssl_certificate \(folder.file("certificate.pem")); ssl_certificate_key \(folder.file("key.pem"));
          location /wait/ { proxy_pass http://10.9.0.9; proxy_request_buffering off; }
          location = / { return 200 "$remote_addr\\n"; }
          location = /once { keepalive_timeout 0; return 200 "$server_addr\\n"; }
          location /slow/ { alias \(folder.path)/; limit_rate 500k; if ($http_range) { set $limit_rate 0; } etag on; }
        }
        server { listen 3128; location / { proxy_pass http://$http_host$request_uri; access_log off; } }
        """)
  }

  /// Answers after a while, at port 80.
  func slowServer(in network: NetworkNamespace? = nil) throws -> SlowServer { try SlowServer(in: network ?? far) }

  func write(_ name: String, bytes count: Int) throws {
    try far.run("head -c \(count) /dev/urandom >'\(folder.file(name))'")
  }

  /// The lines of the server's log.
  var log: [String] { server?.log ?? [] }

  /// An app in `near` whose session knows the path.
  ///
  /// - Parameter sandbox: What the app may not do, as `TestSandbox` names it.
  func app(grace: Double = 3, sandbox: String? = nil, environment: [String] = []) throws -> PathApp {
    let before = sandbox.map { [Programs.sandbox, $0] } ?? []
    return try PathApp(near.command(before + PathApp.command(grace)), environment)
  }

  /// Starts an app that asks a name server of the test's.
  func app(asking names: NameServer, environment: [String] = []) throws -> PathApp {
    try PathApp(names.command(PathApp.command(0)), environment)
  }
}

/// An app that makes the requests that it is told.
final class PathApp {
  struct End {
    /// A status and the first line of a body, or the kind of a failure.
    let outcome: String
    let milliseconds: Int
  }

  let process: ChildProcess
  private var ends: [String: End] = [:]

  static func command(_ grace: Double) -> [String] { [Programs.httpProbe, "path", "\(grace)"] }

  init(_ command: [String], _ environment: [String]) throws {
    process = try ChildProcess(command, environment: environment)
    guard try process.nextLine() == "ready" else { throw TestFailure("no app: \(try process.errorText())") }
  }

  func begin(_ name: String, _ request: String) { process.write("\(name) \(request)\n") }

  /// Waits until a request has ended.
  func end(of name: String) throws -> End {
    while true {
      if let end = ends.removeValue(forKey: name) { return end }
      guard let line = try process.nextLine(within: 30) else { throw TestFailure("the app has ended") }
      let words = line.split(separator: " ")
      guard words.count >= 4, let time = Int(words[words.count - 2]) else { throw TestFailure(line) }
      ends[String(words[0])] = End(
        outcome: words[1..<(words.count - 2)].joined(separator: " "), milliseconds: time / 1_000)
    }
  }

  /// Makes a request, and waits for its end.
  func request(_ request: String) throws -> End {
    begin("request", request)
    return try end(of: "request")
  }

  /// Whether a request has not ended, as far as is known.
  func isRunning(_ name: String) -> Bool { ends[name] == nil && !process.hasLine }
}
