import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// nginx in a network of its own: http at 127.0.0.1, and https where it has a certificate. What is got from it lands in `home`.
final class WebServer {
  let network: NetworkNamespace
  let folder: TemporaryFolder
  let home: TemporaryFolder
  private let nginx: Nginx

  /// - Parameters:
  ///   - server: more of nginx's `server` block.
  ///   - certificate: the files of a certificate and of its key.
  init(_ server: String = "", certificate: (file: String, key: String)? = nil) throws {
    network = try NetworkNamespace()
    (folder, home) = (try TemporaryFolder(), try TemporaryFolder())
    try folder.makeFolder("files")
    // The password is "open sesame".
    try folder.write("ali:{PLAIN}open sesame\n", to: "passwords")
    let tls =
      certificate.map { "listen 443 ssl http2; ssl_certificate \($0.file); ssl_certificate_key \($0.key);" } ?? ""
    nginx = try Nginx(
      in: network, folder, port: 80, log: "$request_method $request_uri $status $http_user_agent $http_x_field",
      servers: """
        server {
          listen 80; \(tls)
          root \(folder.file("files"));
          location = /missing { return 404; }
          location /private/ { alias \(folder.file("files"))/; auth_basic "it"; auth_basic_user_file \(folder.file("passwords")); }
          \(server)
        }
        """)
  }

  /// The options of a server that sends one and a half megabytes at once and then next to nothing: a download stays in its middle
  /// until the test ends it. What goes on where it was comes at once.
  static let holding = "limit_rate_after 1500k; limit_rate 1k; if ($http_range) { set $limit_rate 0; }"

  func start() throws { try nginx.start() }

  /// At once, in the middle of whatever it is doing.
  func kill() throws { try nginx.kill() }

  /// Loses its connections: a download with `--retry` goes on where it was, and ends.
  func restart() throws {
    try kill()
    try start()
  }

  /// Puts so many bytes, which differ in every place, where the server finds them.
  func serve(_ name: String, bytes count: Int) throws {
    try network.run("head -c \(count) /dev/urandom >'\(folder.file("files/\(name)"))'")
  }

  func serve(_ name: String, text: String) throws {
    try text.write(toFile: folder.file("files/\(name)"), atomically: true, encoding: .utf8)
  }

  /// What it has answered, one line a request: method, path, status, user agent and X-Field.
  var answers: [String] { nginx.log }

  // MARK: netwatch get

  /// A program in `home`, on this network.
  func command(_ arguments: [String]) -> [String] { network.command(["env", "-C", home.path] + arguments) }

  func begin(_ arguments: String..., environment: [String] = []) throws -> ChildProcess {
    let child = try ChildProcess(command([Programs.netwatch, "get"] + arguments), environment: environment)
    child.closeInput()
    return child
  }

  func get(_ arguments: String..., environment: [String] = []) throws -> (
    ending: ChildProcess.Ending, output: [String], error: String
  ) {
    try ChildProcess.run(command([Programs.netwatch, "get"] + arguments), environment: environment)
  }

  /// The same on a terminal of its own, by script(1): all that it shows.
  func show(
    _ arguments: String, columns: Int, terminal: String = "xterm", before: String = ""
  ) throws -> String {
    let script = "stty cols \(columns); \(before) exec \(Programs.netwatch) get \(arguments)"
    let child = try ChildProcess.run(
      command(["script", "-qec", script, "/dev/null"]), environment: ["TERM=\(terminal)", "LC_ALL=C.UTF-8"])
    return child.output.joined(separator: "\n")
  }

  /// Whether a file that was got is what was served.
  func isSame(_ name: String, as served: String) -> Bool {
    FileManager.default.contentsEqual(atPath: home.file(name), andPath: folder.file("files/\(served)"))
  }

  /// Waits until the file `name` has this many bytes.
  func wait(for name: String, bytes: Int, at place: SourceLocation = #_sourceLocation) throws {
    try eventually(home.size(of: name), at: place) { $0 >= bytes }
  }
}

extension TemporaryFolder {
  /// The bytes of a file; 0 if there is none.
  func size(of name: String) -> Int {
    var status = stat()
    return unsafe stat(file(name), &status) == 0 ? Int(status.st_size) : 0
  }
}
