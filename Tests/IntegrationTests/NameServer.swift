import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// A name server for a namespace, and a folder that programs see as /etc there, whose resolv.conf names it.
///
/// The folder is bound over /etc in a mount namespace, for which neither root nor a user namespace needs more. It is a whole
/// folder so that resolv.conf can be replaced by renaming, which a file that is a mount of its own cannot.
final class NameServer {
  private let namespace: NetworkNamespace
  private let address: String
  private let folder: String
  private let tellsQuestions: Bool
  private var process: ChildProcess?

  /// - Parameters:
  ///   - namespace: where it runs.
  ///   - address: where it listens.
  ///   - tellsQuestions: whether ``nextQuestion()`` is asked for: what nobody reads ends in a full pipe.
  ///   - records: names of `example` with their addresses, as `office.example,10.1.2.3,fd00::3`. There are no others.
  init(
    in namespace: NetworkNamespace, at address: String = "127.0.0.1", tellsQuestions: Bool = true, _ records: String...
  ) throws {
    self.tellsQuestions = tellsQuestions
    self.namespace = namespace
    self.address = address
    folder = "/tmp/netwatch-etc-\(UUID())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    // Where libraries lie.
    try? FileManager.default.copyItem(atPath: "/etc/ld.so.cache", toPath: "\(folder)/ld.so.cache")
    try writeConfiguration()
    try write(getent: "exit 2")
    try start(records)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  // MARK: What it says

  /// Makes the server know only these records. Answers are good for an hour, so a client asks again only if something makes it.
  func change(to records: String...) throws {
    stop()
    try start(records)
  }

  private func start(_ records: [String]) throws {
    let server = try ChildProcess(
      namespace.command(
        [
          // Not in the background, and not as another user, which a user namespace has not.
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

  /// It is gone; whoever asks is refused at once.
  func stop() { process = nil }

  /// It keeps what it is asked for to itself until ``goOn()``.
  func pause() { process?.signal(SIGSTOP) }

  func goOn() { process?.signal(SIGCONT) }

  /// Gives its place to one that never answers, and says `asked` for each question.
  func fallSilent() throws -> ChildProcess {
    stop()
    let silent = try ChildProcess(namespace.command([Programs.probe, "silent-server"]))
    guard try silent.nextLine() == "silent" else { throw TestFailure(try silent.errorText()) }
    return silent
  }

  /// The name that it is asked for next, and for which family: `A` or `AAAA`.
  func nextQuestion() throws -> (name: String, type: String) {
    while let line = try process?.nextErrorLine() {
      let words = line.split(separator: " ")
      guard let type = words.firstIndex(where: { $0.hasPrefix("query[") }), type + 1 < words.endIndex else { continue }
      return (String(words[type + 1]), String(words[type].dropFirst(6).dropLast()))
    }
    throw TestFailure("the name server is gone")
  }

  // MARK: /etc

  /// Puts a new resolv.conf in the place of the old one, as NetworkManager and systemd do.
  func writeConfiguration() throws {
    try Data("nameserver \(address)\n".utf8).write(to: URL(filePath: "\(folder)/resolv.conf"), options: .atomic)
  }

  func write(hosts: String) throws { try write(hosts, to: "hosts") }

  func write(_ text: String, to file: String) throws {
    try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(file)"))
  }

  /// Puts a script in the place of the system's getent, which would ask the same name server once more; nil leaves that one
  /// where it is.
  func write(getent script: String?) throws {
    guard let script else { return try FileManager.default.removeItem(atPath: "\(folder)/getent") }
    // By a process of its own: a file that is open for writing in a child of another test cannot be run.
    let write = "printf '%s\\n' \"$1\" > \"$2\" && chmod 755 \"$2\""
    let writer = try ChildProcess.run(["sh", "-c", write, "sh", "#!/bin/sh\n\(script)", "\(folder)/getent"])
    guard writer.ending == .exited(0) else { throw TestFailure(writer.error) }
  }

  /// What a script has written into a file in /etc, once there is a whole line of it.
  func text(of file: String, at place: SourceLocation = #_sourceLocation) throws -> String {
    try eventually((try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)) ?? "", at: place) {
      $0.hasSuffix("\n")
    }
  }

  // MARK: Programs that see it

  /// - Parameter other: where the program runs, if the server is elsewhere.
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
