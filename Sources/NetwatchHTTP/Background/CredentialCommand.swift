import CLinux
import HTTPTypes
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// A command that prints the credentials of a transfer, so that no file keeps them.
///
/// It prints lines as git's credential helpers do: `username=NAME` and `password=WORD`, or `authorization=VALUE` for the header field
/// `Authorization`. Other lines are left alone. Its words are passed as they are, without a shell; the first one is a path, or a name in
/// PATH.
struct CredentialCommand: Sendable {
  /// What the command has printed.
  struct Credentials: Sendable {
    var credential: HTTPCredential?
    var authorization: String?
  }

  /// The time that the command has.
  private static let patience = Duration.seconds(60)
  private static let mostBytes = 64 * 1_024

  let words: [String]

  /// Runs the command. Waits for it, at most a minute.
  ///
  /// - Throws: `notAuthenticated` if it fails, or prints no credentials.
  func run() throws(HTTPError) -> Credentials {
    guard let program = words.first.flatMap(Self.find) else {
      throw failure("there is no program '\(words.first ?? "")'; write its path")
    }
    do throws(SystemError) {
      let text = try Self.output(of: program, Array(words.dropFirst()))
      guard let text else { throw SystemError(operation: "wait", code: ETIMEDOUT) }
      if let credentials = Self.credentials(in: text) { return credentials }
    } catch {
      throw failure("it cannot be run: \(error.message)")
    }
    throw failure("it has printed neither username= and password= nor authorization=")
  }

  private func failure(_ message: String) -> HTTPError {
    HTTPError(.notAuthenticated, "run the credential command", message: message)
  }

  private static func find(_ name: String) -> String? {
    if name.contains("/") { return name }
    return UserFolder.programs.lazy.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
  }

  /// - Returns: What the program prints; nil if its time is over.
  private static func output(of program: String, _ arguments: [String]) throws(SystemError) -> String? {
    let pipe = try Pipe()
    let nothing = try FileDescriptor.result(of: "open", unsafe open("/dev/null", O_RDONLY | O_CLOEXEC))
    let process = try ChildProcess.spawn(
      program, arguments, descriptors: [(nothing.rawValue, STDIN_FILENO), (pipe.write, STDOUT_FILENO)],
      closesOthers: true)
    pipe.closeWrite()
    let deadline = KernelClock.monotonic.now + patience
    func end() -> String? {
      kill(-process, SIGKILL)
      _ = ChildProcess.waitForEnd(of: process)
      return nil
    }
    var bytes: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 4_096)
    while true {
      let left = deadline - KernelClock.monotonic.now
      var waiting = pollfd(fd: pipe.read, events: Int16(POLLIN), revents: 0)
      guard left > .zero, bytes.count <= mostBytes,
        unsafe poll(&waiting, 1, CInt(clamping: left.components.seconds * 1_000 + 1)) >= 0 || errno == EINTR
      else { return end() }
      guard waiting.revents != 0 else { continue }
      let count = unsafe NetwatchLibC.read(pipe.read, &room, room.count)
      if count > 0 { bytes += room[..<count] } else if count == 0 || errno != EINTR { break }
    }
    // It may have closed its output, and go on.
    var ending = ChildProcess.ending(of: process)
    while ending == nil, KernelClock.monotonic.now < deadline {
      usleep(10_000)
      ending = ChildProcess.ending(of: process)
    }
    if ending == nil { return end() }
    guard ending == .exited(0) else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }

  static func credentials(in text: String) -> Credentials? {
    var values: [Substring: String] = [:]
    for line in text.split(whereSeparator: \.isNewline) {
      guard let sign = line.firstIndex(of: "=") else { continue }
      values[line[..<sign]] = String(line[line.index(after: sign)...])
    }
    if let authorization = values["authorization"], HTTPField.isValidValue(authorization) {
      return Credentials(authorization: authorization)
    }
    guard let user = values["username"], let password = values["password"] else { return nil }
    return Credentials(credential: HTTPCredential(user: user, password: password))
  }
}
