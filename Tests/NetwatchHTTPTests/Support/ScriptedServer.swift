import Foundation
import Netwatch
import NetwatchTestSupport
import Synchronization
import Testing

/// A server that does to each connection what a test says, on a thread for each.
final class ScriptedServer: Sendable {
  let port: UInt16
  /// Nil once it is closed: its number may be another server's then.
  private let listener: Lock<CInt?>
  private let connections = Lock<[ServerConnection]>([])
  private let isOver = Atomic(false)

  var url: URL { URL(string: "http://127.0.0.1:\(port)/")! }

  /// - Parameter script: called with each connection and its number; the connection is closed when it returns.
  init(_ script: @escaping @Sendable (ServerConnection, Int) -> Void) throws {
    let (listener, port) = try LoopbackSocket.listen()
    self.listener = Lock(listener)
    self.port = port
    Thread.detachNewThread {
      // Not before: another server's listener may get the number, and this thread would take its connections.
      defer {
        self.listener.withLock { $0 = nil }
        close(listener)
      }
      for number in 0... {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else {
          if self.isOver.load(ordering: .sequentiallyConsistent) { return }
          usleep(1_000)  // a client has gone before it was let in, or there is no room for its descriptor
          continue
        }
        let connection = ServerConnection(descriptor)
        guard self.keep(connection) else { return connection.close() }
        Thread.detachNewThread {
          script(connection, number)
          connection.close()
          self.connections.withLock { $0.removeAll { $0 === connection } }
        }
      }
    }
  }

  private func keep(_ connection: ServerConnection) -> Bool {
    connections.withLock { $0.append(connection) }
    return !isOver.load(ordering: .sequentiallyConsistent)
  }

  /// To be called at the end: it closes everything.
  func stop() {
    isOver.store(true, ordering: .sequentiallyConsistent)
    listener.withLock { if let listener = $0 { shutdown(listener, CInt(SHUT_RDWR)) } }
    for connection in connections.withLock({ $0 }) { connection.stop() }
  }
}

/// One connection of a ``ScriptedServer``, on its thread.
final class ServerConnection: Sendable {
  private struct State {
    var descriptor: CInt
    var unread = Data()
  }
  private let state: Lock<State>
  private let descriptor: CInt

  init(_ descriptor: CInt) {
    self.descriptor = descriptor
    state = Lock(State(descriptor: descriptor))
  }

  /// The next request's head; nil at the end.
  func readHead() -> String? { readUntil(Data("\r\n\r\n".utf8)).map { String(decoding: $0, as: UTF8.self) } }

  func readUntil(_ mark: Data) -> Data? {
    var data = state.withLock { state in
      defer { state.unread = Data() }
      return state.unread
    }
    while true {
      if let range = data.range(of: mark) {
        let rest = Data(data[range.upperBound...])
        state.withLock { $0.unread = rest }
        return Data(data[..<range.upperBound])
      }
      guard let more = readSome() else { return nil }
      data += more
    }
  }

  func read(_ count: Int) -> Data? {
    var data = state.withLock { state in
      defer { state.unread = Data() }
      return state.unread
    }
    while data.count < count {
      guard let more = readSome() else { return nil }
      data += more
    }
    let rest = Data(data.dropFirst(count))
    state.withLock { $0.unread = rest }
    return Data(data.prefix(count))
  }

  /// Reads so many bytes, and forgets them.
  ///
  /// - Returns: false where there were less.
  func skip(_ count: Int) -> Bool {
    var left =
      count
      - state.withLock { state in
        defer { state.unread = Data() }
        return state.unread.count
      }
    while left > 0 {
      guard let more = readSome() else { return false }
      left -= more.count
    }
    return left == 0
  }

  /// What comes next; nil at the end.
  func readSome() -> Data? {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe Glibc.recv(descriptor, &bytes, bytes.count, 0)
    return count > 0 ? Data(bytes[..<count]) : nil
  }

  /// - Returns: false when the other side is gone.
  @discardableResult
  func write(_ text: String) -> Bool { write(Data(text.utf8)) }

  @discardableResult
  func write(_ data: Data) -> Bool {
    var rest = data[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Waits until all that was written has arrived: the kernel of the other side has acknowledged it. What has arrived need not have
  /// been read.
  func waitUntilArrived() throws {
    try eventually(unacknowledged) { $0 == 0 }
  }

  /// The bytes that were written, and not acknowledged by the other side (SIOCOUTQ). None once the connection is gone.
  private var unacknowledged: CInt {
    var count: CInt = 0
    return unsafe ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? count : 0
  }

  /// Waits until the other side, on this machine, has read all that was written, or has closed.
  func waitUntilRead() throws {
    try waitUntilArrived()
    try eventually(unread) { $0 == 0 }
  }

  /// The bytes that have arrived at the other side of a connection over 127.0.0.1, and were not read.
  private var unread: Int {
    get throws {
      let ends = unsafe [
        LoopbackSocket.port(of: descriptor, getpeername), LoopbackSocket.port(of: descriptor, getsockname),
      ]
      let names = ends.map { "0100007F:\(String(format: "%04X", $0))" }
      // The fields are a number, the socket's own end, the other one, the state, and the lengths of both queues.
      let sockets = try String(contentsOfFile: "/proc/net/tcp", encoding: .utf8).split(separator: "\n")
        .map { $0.split(separator: " ") }
      let socket = sockets.first { $0.count > 4 && $0[1] == names[0] && $0[2] == names[1] }
      return socket.flatMap { Int($0[4].suffix(8), radix: 16) } ?? 0
    }
  }

  /// Waits until the other side has closed.
  func waitForEnd() { while readSome() != nil {} }

  /// Breaks off with a reset.
  func reset() {
    state.withLock { state in
      // Closed, its number may be another socket's.
      guard state.descriptor >= 0 else { return }
      var setting = Glibc.linger(l_onoff: 1, l_linger: 0)
      unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &setting, socklen_t(MemoryLayout<Glibc.linger>.size))
      // A thread that waits for more would keep the socket.
      shutdown(descriptor, CInt(SHUT_RD))
    }
    close()
  }

  func stop() {
    state.withLock { state in
      if state.descriptor >= 0 { shutdown(state.descriptor, CInt(SHUT_RDWR)) }
    }
  }

  func close() {
    state.withLock { state in
      if state.descriptor >= 0 { Glibc.close(state.descriptor) }
      state.descriptor = -1
    }
  }
}
