import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Two network namespaces that two veth pairs connect. Programs run in `near`, whose uplinks are v0 (10.0.0.1,
/// preferred) and w0 (10.1.0.1). Servers run in `far`, whose address 10.9.0.9 is reached over both.
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

  /// Starts nginx in `far`: at port 8080, by TLS and HTTP/2 at port 8443, and as a proxy at port 3128. The log has a
  /// line for each request that does not go through the proxy.
  ///
  /// - `/`: the address of the client.
  /// - `/once`: the address of the server, which then closes the connection.
  /// - `/slow/FILE`: a file, 500 KiB a second; a request with `Range` is answered at full speed.
  /// - `/wait/…`: the response of the slow server at 10.9.0.9.
  /// - Everything else: the files of `folder`.
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

  /// Starts a slow server at port 80 of a network namespace. Default: `far`.
  func slowServer(in network: NetworkNamespace? = nil) throws -> SlowServer { try SlowServer(in: network ?? far) }

  func write(_ name: String, bytes count: Int) throws {
    try far.run("head -c \(count) /dev/urandom >'\(folder.file(name))'")
  }

  /// The lines of nginx's log, one for each request.
  var log: [String] { server?.log ?? [] }

  /// Starts an app in `near` whose HTTP session uses the network path.
  ///
  /// - Parameters:
  ///   - grace: The session's `pathLossGrace`, in seconds. Default: 3.
  ///   - sandbox: The name of what `TestSandbox` forbids the app. Default: the app may do everything.
  ///   - environment: Variables that are added to the environment of the app.
  func app(grace: Double = 3, sandbox: String? = nil, environment: [String] = []) throws -> PathApp {
    let before = sandbox.map { [Programs.sandbox, $0] } ?? []
    return try PathApp(near.command(before + PathApp.command(grace)), environment)
  }

  /// Starts an app that asks the name server of a test. Its `pathLossGrace` is 0.
  func app(asking names: NameServer, environment: [String] = []) throws -> PathApp {
    try PathApp(names.command(PathApp.command(0)), environment)
  }
}

/// An app that makes HTTP requests when a test asks for them.
final class PathApp {
  struct End {
    /// The status and the first line of the body, or the kind of the failure.
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

  /// Waits until the request with this name has ended, and returns how it ended.
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

  /// Makes a request, and waits until it has ended.
  func request(_ request: String) throws -> End {
    begin("request", request)
    return try end(of: "request")
  }

  /// Whether the app has not yet reported the end of a request, and has written no line that is still unread.
  func isRunning(_ name: String) -> Bool { ends[name] == nil && !process.hasLine }
}
