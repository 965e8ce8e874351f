import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// nginx in a network namespace of its own. It serves HTTP at 127.0.0.1, and HTTPS if it has a certificate. Downloads
/// from it are written to `home`.
final class WebServer {
  let network: NetworkNamespace
  let folder: TemporaryFolder
  let home: TemporaryFolder
  private let nginx: Nginx

  /// - Parameters:
  ///   - server: Further lines of the `server` block in nginx's configuration.
  ///   - certificate: The files of a certificate and of its key. With them, nginx also serves HTTPS at port 443.
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

  /// Options for nginx that hold a download in its middle until the test ends it. nginx sends one and a half megabytes
  /// at once, and then 1 KiB a second. A request with `Range`, which resumes a download, is answered at full speed.
  static let holding = "limit_rate_after 1500k; limit_rate 1k; if ($http_range) { set $limit_rate 0; }"

  func start() throws { try nginx.start() }

  /// Kills nginx with SIGKILL, so that it ends in the middle of its responses.
  func kill() throws { try nginx.kill() }

  /// Kills nginx and starts it again, so that all its connections are lost. A download with `--retry` then resumes, and
  /// completes.
  func restart() throws {
    try kill()
    try start()
  }

  /// Writes a file of this many random bytes to the folder that nginx serves.
  func serve(_ name: String, bytes count: Int) throws {
    try network.run("head -c \(count) /dev/urandom >'\(folder.file("files/\(name)"))'")
  }

  func serve(_ name: String, text: String) throws {
    try text.write(toFile: folder.file("files/\(name)"), atomically: true, encoding: .utf8)
  }

  /// The requests that nginx has answered, one line for each: method, path, status, user agent and X-Field.
  var answers: [String] { nginx.log }

  // MARK: netwatch get

  /// Returns a command that runs a program in this network namespace, with `home` as its working directory.
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

  /// Runs `netwatch get` on a terminal that script(1) makes, and returns everything that the terminal shows.
  ///
  /// - Parameters:
  ///   - arguments: The arguments, as a part of a shell command.
  ///   - columns: The width of the terminal.
  ///   - terminal: The value of `TERM`. Default: `xterm`.
  ///   - before: Shell commands to run before netwatch.
  func show(
    _ arguments: String, columns: Int, terminal: String = "xterm", before: String = ""
  ) throws -> String {
    let script = "stty cols \(columns); \(before) exec \(Programs.netwatch) get \(arguments)"
    let child = try ChildProcess.run(
      command(["script", "-qec", script, "/dev/null"]), environment: ["TERM=\(terminal)", "LC_ALL=C.UTF-8"])
    return child.output.joined(separator: "\n")
  }

  /// Returns whether a file in `home` has the same content as a file that nginx serves.
  func isSame(_ name: String, as served: String) -> Bool {
    FileManager.default.contentsEqual(atPath: home.file(name), andPath: folder.file("files/\(served)"))
  }

  /// Waits until a file in `home` has at least this many bytes.
  func wait(for name: String, bytes: Int, at place: SourceLocation = #_sourceLocation) throws {
    try eventually(home.size(of: name), at: place) { $0 >= bytes }
  }
}

extension TemporaryFolder {
  /// Returns the size of a file in bytes, or 0 if there is no such file.
  func size(of name: String) -> Int {
    var status = stat()
    return unsafe stat(file(name), &status) == 0 ? Int(status.st_size) : 0
  }
}
