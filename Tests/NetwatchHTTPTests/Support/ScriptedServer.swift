import Foundation
import Netwatch
import NetwatchTestSupport
import Synchronization
import Testing

/// A server that runs a script of the test for each connection, on a thread of its own.
final class ScriptedServer: Sendable {
  let port: UInt16
  /// The listening socket. Nil after it is closed, because its number may then belong to another server's socket.
  private let listener: Lock<CInt?>
  private let connections = Lock<[ServerConnection]>([])
  private let isOver = Atomic(false)
  private let count = Atomic(0)

  /// The number of connections that were accepted.
  var connectionCount: Int { count.load(ordering: .sequentiallyConsistent) }

  var url: URL { URL(string: "http://127.0.0.1:\(port)/")! }

  /// - Parameter script: Is called with each connection and its number, which begins at 0. The connection is closed
  ///   when the script returns.
  init(_ script: @escaping @Sendable (ServerConnection, Int) -> Void) throws {
    let (listener, port) = try LoopbackSocket.listen()
    self.listener = Lock(listener)
    self.port = port
    Thread.detachNewThread {
      // Only this thread closes the listener. If another one did so earlier, the listener of another server could get
      // the number, and this thread would accept that server's connections.
      defer {
        self.listener.withLock { $0 = nil }
        close(listener)
      }
      for number in 0... {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else {
          if self.isOver.load(ordering: .sequentiallyConsistent) { return }
          usleep(1_000)  // the client has gone before it was accepted, or no descriptor is free
          continue
        }
        let connection = ServerConnection(descriptor)
        self.count.add(1, ordering: .sequentiallyConsistent)
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

  /// Ends all connections, and the thread that accepts them. A test calls this at its end.
  func stop() {
    isOver.store(true, ordering: .sequentiallyConsistent)
    listener.withLock { if let listener = $0 { shutdown(listener, CInt(SHUT_RDWR)) } }
    for connection in connections.withLock({ $0 }) { connection.stop() }
  }
}

/// A connection of a ``ScriptedServer``, for the thread of its script.
final class ServerConnection: Sendable {
  private struct State {
    var descriptor: CInt
    var unread = Data()
    var isBrokenOff = false
  }
  private let state: Lock<State>
  private let descriptor: CInt

  init(_ descriptor: CInt) {
    self.descriptor = descriptor
    state = Lock(State(descriptor: descriptor))
  }

  /// Reads the head of the next request. Nil at the end of the connection.
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

  /// Reads `count` bytes and discards them.
  ///
  /// - Returns: False if the connection ended before, or if more bytes came together with these.
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

  /// Reads the bytes that come next from the socket. Nil at the end of the connection.
  func readSome() -> Data? {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe Glibc.recv(descriptor, &bytes, bytes.count, 0)
    return count > 0 ? Data(bytes[..<count]) : nil
  }

  /// - Returns: False if the connection has ended.
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

  /// Waits until all bytes that were written have arrived, that is, until the kernel of the other side has acknowledged
  /// them. The program on the other side may not have read them yet.
  func waitUntilArrived() throws {
    try eventually(unacknowledged) { $0 == 0 }
  }

  /// The number of bytes that were written but not acknowledged by the other side (SIOCOUTQ). 0 after the connection
  /// has ended.
  private var unacknowledged: CInt {
    var count: CInt = 0
    return unsafe ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? count : 0
  }

  /// Waits until the other side, which is on this machine, has read all bytes that were written, or has closed.
  func waitUntilRead() throws {
    try waitUntilArrived()
    try eventually(unread) { $0 == 0 }
  }

  /// The number of bytes that have arrived at the other end of a connection over 127.0.0.1 but were not read there.
  private var unread: Int {
    get throws {
      let ends = unsafe [
        LoopbackSocket.port(of: descriptor, getpeername), LoopbackSocket.port(of: descriptor, getsockname),
      ]
      let names = ends.map { "0100007F:\(String(format: "%04X", $0))" }
      // The fields of a line: a number, the socket's own end, the other end, the state, and the lengths of the queues
      // for sending and receiving.
      let sockets = try String(contentsOfFile: "/proc/net/tcp", encoding: .utf8).split(separator: "\n")
        .map { $0.split(separator: " ") }
      let socket = sockets.first { $0.count > 4 && $0[1] == names[0] && $0[2] == names[1] }
      return socket.flatMap { Int($0[4].suffix(8), radix: 16) } ?? 0
    }
  }

  /// Waits until the other side has closed.
  func waitForEnd() { while readSome() != nil {} }

  /// Breaks off the connection with a reset. Only the thread of its script may call this: a number that is closed may be another
  /// socket's a moment later, from which a thread that still reads would take bytes.
  func reset() {
    breakOff()
    close()
  }

  /// Ends the reads of the connection, and makes its end a reset instead of an ending in good order. Any thread may call this.
  func breakOff() {
    state.withLock { state in
      guard state.descriptor >= 0 else { return }
      state.isBrokenOff = true
      var setting = Glibc.linger(l_onoff: 1, l_linger: 0)
      unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &setting, socklen_t(MemoryLayout<Glibc.linger>.size))
      // The kernel keeps the socket, and sends no reset, while a thread waits in recv(2) for more bytes.
      shutdown(descriptor, CInt(SHUT_RD))
    }
  }

  func stop() {
    state.withLock { state in
      if state.descriptor >= 0 { shutdown(state.descriptor, CInt(state.isBrokenOff ? SHUT_RD : SHUT_RDWR)) }
    }
  }

  func close() {
    state.withLock { state in
      if state.descriptor >= 0 { Glibc.close(state.descriptor) }
      state.descriptor = -1
    }
  }
}
