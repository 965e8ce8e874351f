import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The lookup of one host name by systemd-resolved, with its method ResolveHostname: a JSON object and a zero byte each way, over a Unix
/// socket (varlink). Nothing is started, and the loop is never blocked.
///
/// The lookup continues as long as it is held. `body` is called once, on the loop, and never before `init` has returned. It may release
/// the lookup.
final class ResolvedLookup {
  /// The most bytes of an answer that are read; one address takes about 60.
  private static let longestAnswer = 65_536
  /// The errors that say that the name has no address. Others say that resolved could not find out.
  private static let denials = ["io.systemd.Resolve.NoSuchResourceRecord"]
  /// NXDOMAIN of RFC 1035, section 4.1.1.
  private static let noSuchName: Int64 = 3

  private let loop: EventLoop
  private var body: ((SystemLookup.Answer) -> Void)?
  /// Nil if nobody listens.
  private let socket: FileDescriptor?
  private var registration: EventLoop.Registration?
  private var timer: LoopTimer?
  private var received: [UInt8] = []

  /// Starts the lookup.
  ///
  /// - Parameters:
  ///   - name: The name in ASCII.
  ///   - path: The path of resolved's socket.
  ///   - patience: The time to wait for the answer, which is `silence` after that.
  init(
    of name: HostName, at path: String, on loop: EventLoop, within patience: Duration,
    _ body: @escaping (SystemLookup.Answer) -> Void
  ) {
    self.loop = loop
    self.body = body
    let number: CInt
    do throws(SystemError) {
      let socket = try UnixSocket.connect(to: path)
      number = socket.rawValue
      self.socket = consume socket
    } catch {
      number = -1
      socket = nil
    }
    if number >= 0, Self.ask(for: name, over: number) {
      registration = try? loop.watch(number, for: .readable) { [unowned self] _ in read(number) }
    }
    timer = LoopTimer(on: loop) { [unowned self] in conclude(registration == nil ? .unavailable : .silence) }
    timer?.set(after: registration == nil ? .zero : patience)
  }

  deinit { stop() }

  /// - Returns: False if the socket does not take the whole question.
  private static func ask(for name: HostName, over socket: CInt) -> Bool {
    // A name in ASCII has no character that JSON would escape.
    let parameters = #"{"name":"\#(name.name)","flags":0}"#
    let question = Array(#"{"method":"io.systemd.Resolve.ResolveHostname","parameters":\#(parameters)}"#.utf8) + [0]
    return unsafe send(socket, question, question.count, CInt(MSG_NOSIGNAL)) == question.count
  }

  private func read(_ socket: CInt) {
    var isOver = false
    unsafe withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 1) { buffer in
      while !isOver, received.count < Self.longestAnswer {
        let count = unsafe recv(socket, buffer.baseAddress, buffer.count, 0)
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        guard count > 0 else {
          isOver = true
          return
        }
        unsafe received.append(contentsOf: buffer[..<count])
        isOver = received.last == 0
      }
      isOver = isOver || received.count >= Self.longestAnswer
    }
    if isOver { conclude(Self.answer(received)) }
  }

  private func conclude(_ answer: SystemLookup.Answer) {
    let body = body
    stop()
    withExtendedLifetime(self) { body?(answer) }
  }

  private func stop() {
    body = nil
    if let registration { loop.remove(registration) }
    (timer, registration) = (nil, nil)
  }

  /// Reads a response, which ends with a zero byte.
  static func answer(_ bytes: [UInt8]) -> SystemLookup.Answer {
    guard bytes.last == 0, let response = JSONValue(bytes.dropLast()[...]) else { return .unavailable }
    if let error = response["error"]?.string {
      if denials.contains(error) || response["parameters"]?["rcode"]?.integer == noSuchName { return .none }
      // Every error of resolved itself is an answer that it could not find out; others are about the call.
      return error.hasPrefix("io.systemd.Resolve.") ? .silence : .unavailable
    }
    guard let list = response["parameters"]?["addresses"]?.array else { return .unavailable }
    var addresses: [InternetAddress] = []
    for case let bytes? in list.map({ Self.bytes($0["address"]) }) where addresses.count < Resolution.mostAddresses {
      guard let address = InternetAddress(bytes: bytes), !address.isLinkLocal, !addresses.contains(address) else {
        continue
      }
      addresses.append(address)
    }
    return addresses.isEmpty ? .none : .addresses(addresses)
  }

  private static func bytes(_ value: JSONValue?) -> [UInt8]? {
    value?.array?.compactMap { $0.integer(in: 0...255).map { UInt8($0) } }
  }
}

extension InternetAddress {
  /// Nil unless there are 4 or 16 bytes.
  fileprivate init?(bytes: [UInt8]) {
    switch bytes.count {
    case 4: self = .v4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
    case 16: self = .v6(bytes.reduce(0) { $0 << 8 | UInt128($1) })
    default: return nil
    }
  }
}
