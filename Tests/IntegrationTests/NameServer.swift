import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// A name server in a network namespace, and a folder that programs see as /etc. The resolv.conf in this folder names
/// the server.
///
/// The folder is mounted over /etc in a mount namespace. Root may do that, and so may a process in a user namespace. It
/// is a whole folder so that resolv.conf can be replaced by renaming. The kernel refuses to replace a file that is a
/// mount of its own.
final class NameServer {
  private let namespace: NetworkNamespace
  private let address: String
  private let folder: String
  private let tellsQuestions: Bool
  private var process: ChildProcess?

  /// - Parameters:
  ///   - namespace: The network namespace of the name server.
  ///   - address: The address at which the name server listens. Default: 127.0.0.1.
  ///   - tellsQuestions: Whether the test calls ``nextQuestion()``. If nobody reads the log of the questions, it fills
  ///     the pipe, and the server stops.
  ///   - records: Names below `example` with their addresses, such as `office.example,10.1.2.3,fd00::3`. No other names
  ///     exist.
  init(
    in namespace: NetworkNamespace, at address: String = "127.0.0.1", tellsQuestions: Bool = true, _ records: String...
  ) throws {
    self.tellsQuestions = tellsQuestions
    self.namespace = namespace
    self.address = address
    folder = "/tmp/netwatch-etc-\(UUID())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    // The dynamic linker finds libraries by this file.
    try? FileManager.default.copyItem(atPath: "/etc/ld.so.cache", toPath: "\(folder)/ld.so.cache")
    try writeConfiguration()
    try write(getent: "exit 2")
    try start(records)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  // MARK: What it says

  /// Restarts the server with these records only. An answer is valid for an hour, so a client asks again only if
  /// something else makes it.
  func change(to records: String...) throws {
    stop()
    try start(records)
  }

  private func start(_ records: [String]) throws {
    let server = try ChildProcess(
      namespace.command(
        [
          // With this option, dnsmasq stays in the foreground and does not change its user. A user namespace has no
          // other user.
          "dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--pid-file=", "--no-hosts", "--no-resolv",
          "--listen-address=\(address)", "--bind-interfaces", "--local=/example/", "--local-ttl=3600",
          "--log-facility=-",
        ] + (tellsQuestions ? ["--log-queries"] : []) + records.map { "--host-record=\($0)" }))
    process = server
    var said: [String] = []
    while let line = try server.nextErrorLine() {
      if line.contains("started") { return }
      said.append(line)
    }
    throw TestFailure("dnsmasq does not run: \(said.joined(separator: " "))")
  }

  /// Ends the name server. From then on, each question is refused at once.
  func stop() { process = nil }

  /// Stops the name server with SIGSTOP, so that it answers no question until ``goOn()``.
  func pause() { process?.signal(SIGSTOP) }

  func goOn() { process?.signal(SIGCONT) }

  /// Ends the name server and starts one at 127.0.0.1 that never answers. The new one prints `asked` for each question.
  func fallSilent() throws -> ChildProcess {
    stop()
    let silent = try ChildProcess(namespace.command([Programs.probe, "silent-server"]))
    guard try silent.nextLine() == "silent" else { throw TestFailure(try silent.errorText()) }
    return silent
  }

  /// Waits for the next question, and returns its name and its type: `A` for IPv4 or `AAAA` for IPv6.
  func nextQuestion() throws -> (name: String, type: String) {
    while let line = try process?.nextErrorLine() {
      let words = line.split(separator: " ")
      guard let type = words.firstIndex(where: { $0.hasPrefix("query[") }), type + 1 < words.endIndex else { continue }
      return (String(words[type + 1]), String(words[type].dropFirst(6).dropLast()))
    }
    throw TestFailure("the name server is gone")
  }

  // MARK: /etc

  /// Replaces resolv.conf by renaming a new file, as NetworkManager and systemd do.
  func writeConfiguration() throws {
    try Data("nameserver \(address)\n".utf8).write(to: URL(filePath: "\(folder)/resolv.conf"), options: .atomic)
  }

  func write(hosts: String) throws { try write(hosts, to: "hosts") }

  func write(_ text: String, to file: String) throws {
    try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(file)"))
  }

  /// Replaces the system's getent by a script, because getent would ask the same name server once more. With nil,
  /// programs see the system's getent again.
  func write(getent script: String?) throws {
    guard let script else { return try FileManager.default.removeItem(atPath: "\(folder)/getent") }
    // The file is written by another process. The kernel does not run a file that is open for writing, and a child that
    // another test starts meanwhile would inherit a descriptor of this process.
    let write = "printf '%s\\n' \"$1\" > \"$2\" && chmod 755 \"$2\""
    let writer = try ChildProcess.run(["sh", "-c", write, "sh", "#!/bin/sh\n\(script)", "\(folder)/getent"])
    guard writer.ending == .exited(0) else { throw TestFailure(writer.error) }
  }

  /// Returns the text of a file in the folder, once its last line is complete.
  func text(of file: String, at place: SourceLocation = #_sourceLocation) throws -> String {
    try eventually((try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)) ?? "", at: place) {
      $0.hasSuffix("\n")
    }
  }

  // MARK: Programs that see it

  /// Returns a command that runs a program with the folder as its /etc.
  ///
  /// - Parameter other: The network namespace of the program. Default: the one of the name server.
  func command(_ arguments: [String], in other: NetworkNamespace? = nil) -> [String] {
    let script =
      "mount --bind \(folder) /etc && { [ ! -e /etc/getent ] || mount --bind /etc/getent /usr/bin/getent; } && exec \"$@\""
    return (other ?? namespace).command(["unshare", "--mount", "sh", "-c", script, "sh"] + arguments)
  }

  func netwatch(_ arguments: String...) throws -> ChildProcess {
    try ChildProcess(command([Programs.netwatch] + arguments))
  }

  func netwatchIn(_ other: NetworkNamespace, _ arguments: [String]) throws -> ChildProcess {
    try ChildProcess(command([Programs.netwatch] + arguments, in: other))
  }

  func follow(_ arguments: String..., in other: NetworkNamespace? = nil) throws -> Follow {
    try Follow(ChildProcess(command(Programs.follow(arguments), in: other)))
  }
}
