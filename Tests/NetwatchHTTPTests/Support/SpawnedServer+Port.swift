import Foundation
import Glibc
import NetwatchTestSupport

extension SpawnedServer {
  /// Begins a server that runs until the test lets go of it.
  ///
  /// - Parameters:
  ///   - command: Of the shell; its arguments are `$1` and so on.
  ///   - cleaning: What the shell does once the server is gone.
  ///   - ports: On which the server listens when it is up.
  static func start(
    _ command: String, _ arguments: [String] = [], cleaning: String = ":", ports: [UInt16]
  ) throws -> SpawnedServer {
    let server = try SpawnedServer(
      ["/bin/sh", "-c", "PATH=$PATH:/usr/sbin; \(command) & read -r end; kill -9 $!; wait; \(cleaning)", "sh"]
        + arguments)
    let deadline = ContinuousClock.now + .seconds(30)
    for port in ports {
      while true {
        if let descriptor = LoopbackSocket.connect(to: port) {
          close(descriptor)
          break
        }
        guard .now < deadline else { throw TestFailure("\(command) does not listen on \(port)") }
        usleep(5_000)
      }
    }
    return server
  }
}
