import Foundation
import Glibc

/// Stands between a client and a server, and breaks connections off.
final class RelayServer {
  private let server: ScriptedServer
  private let open: Box<[ServerConnection]>

  var port: UInt16 { server.port }

  /// - Parameter target: the port of the server.
  init(to target: UInt16) throws {
    let open = Box<[ServerConnection]>([])
    self.open = open
    server = try ScriptedServer { client, _ in
      guard let descriptor = LoopbackSocket.connect(to: target) else { return }
      let server = ServerConnection(descriptor)
      open.change { $0.append(client) }
      let isOver = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        while let bytes = server.readSome(), client.write(bytes) {}
        client.stop()
        isOver.signal()
      }
      while let bytes = client.readSome(), server.write(bytes) {}
      server.stop()
      // The numbers of both may be other sockets' once they are closed.
      isOver.wait()
      server.close()
    }
  }

  deinit { server.stop() }

  /// Breaks off every connection that is open, with a reset.
  func cut() {
    let cut = open.now
    open.change { $0 = [] }
    for connection in cut { connection.reset() }
  }
}
