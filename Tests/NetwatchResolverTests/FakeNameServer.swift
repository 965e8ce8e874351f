import CLinux
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchResolver

/// A name server on the loop of the test. It listens on a free port of the loopback device, by UDP and TCP.
final class FakeNameServer {
  enum Transport {
    case udp, tcp
  }

  /// All questions that the server has received, in order.
  private(set) var questions: [Question] = []
  /// The ports of the sockets that have asked by UDP.
  private(set) var clients: Set<UInt16> = []
  private let loop: EventLoop
  private let own: Port
  private var registrations: [EventLoop.Registration] = []
  private var connections: [Connection] = []
  /// Returns the messages that the server sends for a question. There may be any number of them.
  var script: (Question, Transport) -> [[UInt8]]

  init(on loop: EventLoop, script: @escaping (Question, Transport) -> [[UInt8]]) throws {
    self.loop = loop
    self.script = script
    own = try Self.openPort()
    registrations.append(
      try loop.watch(own.datagrams.rawValue, for: .readable) { [unowned self] _ in answerDatagrams() })
    registrations.append(
      try loop.watch(own.listener.rawValue, for: .readable) { [unowned self] _ in acceptConnection() })
  }

  convenience init(on loop: EventLoop, records: [Record]) throws {
    try self.init(on: loop) { question, _ in [Answer.bytes(question, records)] }
  }

  deinit {
    for registration in registrations + connections.compactMap(\.registration) { loop.remove(registration) }
  }

  var port: UInt16 { own.number }

  /// The configuration of a resolver that asks only this server.
  var configuration: ResolverConfiguration {
    var configuration = ResolverConfiguration()
    configuration.servers = [.init(.v4(0x7f00_0001), port: port)]
    configuration.resolvConf = "/nowhere/resolv.conf"
    configuration.getent = "/nowhere/getent"
    return configuration
  }

  /// The sockets of both protocols, which listen on the same port.
  private struct Port: ~Copyable {
    let datagrams: FileDescriptor
    let listener: FileDescriptor
    let number: UInt16
  }

  private static func openPort() throws(SystemError) -> Port {
    // The port that one protocol has free may be taken for the other protocol.
    for _ in 0..<50 {
      let datagrams = try FileDescriptor.result(of: "socket", socket(AF_INET, CInt(SOCK_DGRAM.rawValue) | flags, 0))
      let number = try bind(datagrams, port: 0)
      let listener = try FileDescriptor.result(of: "socket", socket(AF_INET, CInt(SOCK_STREAM.rawValue) | flags, 0))
      guard (try? bind(listener, port: number)) != nil, listen(listener.rawValue, 8) == 0 else { continue }
      return Port(datagrams: datagrams, listener: listener, number: number)
    }
    throw SystemError(operation: "bind", code: EADDRINUSE)
  }

  private static let flags = CInt(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)

  private static func bind(_ descriptor: borrowing FileDescriptor, port: UInt16) throws(SystemError) -> UInt16 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let number = descriptor.rawValue
    let result = unsafe withUnsafeMutablePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe Glibc.bind(number, address, length) == 0 && getsockname(number, address, &length) == 0
      }
    }
    guard result else { throw .last("bind") }
    return UInt16(bigEndian: address.sin_port)
  }

  private func answerDatagrams() {
    while true {
      var buffer = [UInt8](repeating: 0, count: 2_048)
      var client = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let count = unsafe withUnsafeMutablePointer(to: &client) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe recvfrom(own.datagrams.rawValue, &buffer, buffer.count, 0, $0, &length)
        }
      }
      guard count > 0 else { return }
      guard let question = Question(Array(buffer[..<count])) else { continue }
      questions.append(question)
      clients.insert(UInt16(bigEndian: client.sin_port))
      for reply in script(question, .udp) { send(reply, to: client) }
    }
  }

  private func send(_ answer: [UInt8], to client: sockaddr_in) {
    var client = client
    unsafe withUnsafePointer(to: &client) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = unsafe sendto(
          own.datagrams.rawValue, answer, answer.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private func acceptConnection() {
    let number = accept4(own.listener.rawValue, nil, nil, Self.flags)
    guard number >= 0 else { return }
    let connection = Connection(FileDescriptor(owning: number))
    connection.registration = try? loop.watch(number, for: .readable) { [unowned self, unowned connection] _ in
      while let question = connection.read() {
        questions.append(question)
        for reply in script(question, .tcp) { connection.write(reply) }
      }
      guard connection.hasEnded else { return }
      if let registration = connection.registration { loop.remove(registration) }
      connections.removeAll { $0 === connection }
    }
    connections.append(connection)
  }

  private final class Connection {
    private let descriptor: FileDescriptor
    private var input: [UInt8] = []
    private(set) var hasEnded = false
    var registration: EventLoop.Registration?

    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    /// Reads from the connection, and returns the next complete question; nil if there is none yet.
    func read() -> Question? {
      var buffer = [UInt8](repeating: 0, count: 2_048)
      let count = unsafe Glibc.read(descriptor.rawValue, &buffer, buffer.count)
      if count > 0 { input += buffer[..<count] }
      if count == 0 { hasEnded = true }
      guard input.count >= 2 else { return nil }
      let end = 2 + Int(input[0]) << 8 + Int(input[1])
      guard input.count >= end else { return nil }
      defer { input.removeSubrange(..<end) }
      return Question(Array(input[2..<end]))
    }

    func write(_ answer: [UInt8]) {
      let message = [UInt8(answer.count >> 8), UInt8(answer.count & 0xff)] + answer
      _ = unsafe Glibc.send(descriptor.rawValue, message, message.count, CInt(MSG_NOSIGNAL))
    }
  }
}
