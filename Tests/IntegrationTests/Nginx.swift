import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// nginx in a network namespace, with the files of a folder. Its log has a line for each request.
final class Nginx {
  private let network: NetworkNamespace
  private let folder: TemporaryFolder
  private let port: Int
  private var process: ChildProcess?

  /// - Parameters:
  ///   - port: A port at which nginx listens. A test waits until that port is open.
  ///   - log: The format of the lines of the log, in nginx's syntax.
  ///   - servers: The `server` blocks of the configuration.
  init(in network: NetworkNamespace, _ folder: TemporaryFolder, port: Int, log: String, servers: String) throws {
    self.network = network
    self.folder = folder
    self.port = port
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder.file($0));" }.joined()
    // In a user namespace there is no other user that nginx could become.
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

  /// Kills nginx with SIGKILL, so that it ends in the middle of its responses.
  func kill() throws {
    process?.signal(SIGKILL)
    _ = try process?.wait()
  }

  /// The lines of nginx's log, one for each request.
  var log: [String] { folder.text(of: "access.log").split(separator: "\n").map(String.init) }
}
