import Foundation
import Glibc

/// A relay between clients and a server. It can break off connections.
final class RelayServer {
  private let server: ScriptedServer
  private let open: Box<[ServerConnection]>

  var port: UInt16 { server.port }

  /// - Parameter target: The port of the server, on 127.0.0.1.
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
      // Both threads use both descriptors. After they are closed, their numbers may belong to other sockets.
      isOver.wait()
      server.close()
    }
  }

  deinit { server.stop() }

  /// Breaks off every connection that is open, with a reset to the client.
  func cut() {
    let cut = open.now
    open.change { $0 = [] }
    for connection in cut { connection.breakOff() }
  }
}
