import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The lookup of one host name by the system: the sources in nsswitch.conf, such as multicast DNS or a directory.
///
/// These sources are libraries that may block, so they are used by a separate process, getent(1). The loop is never blocked.
/// The lookup continues as long as it is held. `body` is called once, on the loop, and never before `init` has returned. It may
/// release the lookup.
final class SystemLookup {
  enum Answer: Hashable {
    /// The addresses: from 1 to 16, each once.
    case addresses([InternetAddress])
    /// The system does not know any address.
    case none
    /// There was no answer in time.
    case silence
    /// The system cannot be asked.
    case unavailable
  }

  /// The most bytes of an answer that are read. A host may have thousands of addresses, but only the first ones count.
  private static let longestAnswer = 16_384
  /// The script of the shell. When this process ends, for whatever reason, the shell reads the end of its input, and kills its
  /// process group. The program and the name are arguments, and never become a part of the script.
  private static let script = """
    exec 2>/dev/null
    ("$1" ahosts "$2"; echo "status $?"; kill -KILL 0) &
    read -r line
    kill -KILL 0
    """
  /// The environment of the shell. It is not that of the surrounding program, which may be changing it at this moment.
  private static let environment = [
    "PATH=/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/run/current-system/sw/bin", "LC_ALL=C",
  ]

  private let loop: EventLoop
  private var body: ((Answer) -> Void)?
  private var child: OwnChild?
  /// The shell's input. Nothing is written to it: it stays open as long as this object exists.
  private var input: Pipe?
  private var output: Pipe?
  private var registration: EventLoop.Registration?
  private var timer: LoopTimer?
  private var text: [UInt8] = []

  /// Starts the lookup.
  ///
  /// - Parameters:
  ///   - name: The name in ASCII.
  ///   - program: The program that asks the system.
  ///   - configuration: The time to wait, in `systemTimeout`.
  init(
    of name: HostName, by program: String, on loop: EventLoop, _ configuration: ResolverConfiguration,
    _ body: @escaping (Answer) -> Void
  ) {
    self.loop = loop
    self.body = body
    do throws(SystemError) {
      try start(program, name.name)
      arm(after: configuration.systemTimeout, .silence)
    } catch {
      stop()
      arm(after: .zero, .unavailable)
    }
  }

  deinit { stop() }

  private func start(_ program: String, _ name: String) throws(SystemError) {
    let input = try Pipe()
    let output = try Pipe()
    try output.readWithoutWaiting()
    child = OwnChild(
      try ChildProcess.spawn(
        "/bin/sh", ["-c", Self.script, "sh", program, name], environment: Self.environment,
        descriptors: [(input.read, STDIN_FILENO), (output.write, STDOUT_FILENO)], closesOthers: true))
    input.closeRead()
    output.closeWrite()
    self.input = input
    self.output = output
    registration = try loop.watch(output.read, for: .readable) { [unowned self] _ in read() }
  }

  private func arm(after delay: Duration, _ answer: Answer) {
    timer = LoopTimer(on: loop) { [unowned self] in conclude(answer) }
    timer?.set(after: delay)
  }

  private func read() {
    guard let descriptor = output?.read else { return }
    var isOver = false
    unsafe withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 1) { buffer in
      while text.count < Self.longestAnswer {
        let count = unsafe NetwatchLibC.read(descriptor, buffer.baseAddress, buffer.count)
        if count > 0 {
          unsafe text.append(contentsOf: buffer[..<count])
        } else {
          isOver = count == 0
          return
        }
      }
      isOver = true
    }
    if isOver || Self.status(text) != nil { conclude(Self.answer(text)) }
  }

  private func conclude(_ answer: Answer) {
    let body = body
    stop()
    withExtendedLifetime(self) { body?(answer) }
  }

  private func stop() {
    body = nil
    if let registration { loop.remove(registration) }
    (timer, registration, child, input, output) = (nil, nil, nil, nil, nil)
  }

  // MARK: What is said

  /// Returns the exit status of getent, which follows its output.
  private static func status(_ text: [UInt8]) -> CInt? {
    guard text.last == UInt8(ascii: "\n"), let line = text.split(separator: UInt8(ascii: "\n")).last else { return nil }
    let words = String(decoding: line, as: UTF8.self).split(separator: " ")
    return words.count == 2 && words[0] == "status" ? CInt(words[1]) : nil
  }

  static func answer(_ text: [UInt8]) -> Answer {
    var addresses: [InternetAddress] = []
    // Text after the last newline was cut.
    for line in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
      guard addresses.count < Resolution.mostAddresses else { break }
      // A line such as `192.0.2.7       STREAM host.example`. An address with a scope is only valid on its link.
      let first = line.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
      guard let address = InternetAddress(String(decoding: first, as: UTF8.self)) else { continue }
      if !addresses.contains(address) { addresses.append(address) }
    }
    if !addresses.isEmpty { return .addresses(addresses) }
    switch status(text) {
    // The status 2 means: not found.
    case 0?, 2?: return .none
    case nil: return .silence
    // getent is missing, or does not support hosts.
    default: return .unavailable
    }
  }
}
