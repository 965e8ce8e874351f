import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// nginx in a network of a test, with a folder of its own. Each request is a line of its log.
final class Nginx {
  private let network: NetworkNamespace
  private let folder: TemporaryFolder
  private let port: Int
  private var process: ChildProcess?

  /// - Parameters:
  ///   - port: The port that says that nginx is there.
  ///   - log: The format of a line of the log.
  ///   - servers: The blocks of nginx's `server`.
  init(in network: NetworkNamespace, _ folder: TemporaryFolder, port: Int, log: String, servers: String) throws {
    self.network = network
    self.folder = folder
    self.port = port
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder.file($0));" }.joined()
    // In a user's own namespace there is nobody else that it could become.
    try folder.write(
      """
      user root; daemon off; master_process off; pid \(folder.file("pid")); error_log \(folder.file("error.log"));
      events {}
      http {
        \(temporary)
        log_format all '\(log)';
        access_log \(folder.file("access.log")) all;
        keepalive_requests 100000;
        \(servers)
      }
      """, to: "nginx.conf")
    try start()
  }

  func start() throws {
    try requireProgram("nginx")
    process = try ChildProcess(
      network.command(["nginx", "-c", folder.file("nginx.conf"), "-e", folder.file("error.log")]))
    try network.run("until ss -Hltn | grep -q :\(port); do sleep 0.01; done")
  }

  /// At once, in the middle of whatever it is doing.
  func kill() throws {
    process?.signal(SIGKILL)
    _ = try process?.wait()
  }

  /// The lines of the log.
  var log: [String] { folder.text(of: "access.log").split(separator: "\n").map(String.init) }
}
