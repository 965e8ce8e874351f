import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// An HTTP server on port 80 of a namespace that answers as the test says: the `answer-server` of NetwatchProbe.
final class AnswerServer {
  /// The URL of a server that runs in `far` of ``TwoNetworks``.
  static let url = "http://10.0.0.2/probe"

  private let process: ChildProcess

  init(in namespace: NetworkNamespace, answering answer: String = "204") throws {
    process = try ChildProcess(namespace.command([Programs.probe, "answer-server"]))
    guard try process.nextLine() == "ready" else { throw TestFailure("no server: \(try process.errorText())") }
    try self.answer(answer)
  }

  /// Sets the answer to all requests from now on, in the words of `answer-server`, such as `204`, `to PLACE` or `hang`.
  func answer(_ text: String) throws {
    process.write(text + "\n")
    try wait(for: "set")
  }

  /// Waits for the next request and returns the lines of its head, with `|` between them.
  @discardableResult
  func nextRequest() throws -> String { try wait(for: "asked") }

  /// Waits until a client leaves that got no answer because the answer is `hang`.
  func clientLeaves() throws { try wait(for: "gone") }

  @discardableResult
  private func wait(for word: String) throws -> String {
    while let line = try process.nextLine() {
      if line.hasPrefix(word) { return String(line.dropFirst(word.count + 1)) }
    }
    throw TestFailure("the server has ended: \(try process.errorText())")
  }
}

extension TwoNetworks {
  /// Starts `netwatch --follow` with a probe that asks an ``AnswerServer`` in `far`.
  func followProbing(_ options: String...) throws -> Follow {
    try Follow(
      ChildProcess(near.command([Programs.netwatch, "-f", "--json", "--probe", AnswerServer.url] + options)))
  }
}

extension Follow {
  var internets: [String?] { lines.map(\.internet) }

  /// Waits until netwatch has at most `count` child processes.
  func waitUntilChildless(butFor count: Int = 0, at place: SourceLocation = #_sourceLocation) throws {
    try eventually(process.children, at: place) { $0.count <= count }
  }
}

extension ChildProcess {
  /// The IDs of the processes that this process has started and has not collected.
  var children: [pid_t] {
    let text = try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
    return (text ?? "").split(separator: " ").compactMap { pid_t($0) }
  }
}

extension TemporaryFolder {
  /// Installs a shell script in the place of the helper `netwatch-http`.
  ///
  /// Another process copies the script. The kernel does not run a file that a process has open for writing, and a child
  /// that the tests have forked meanwhile may have it open.
  func installHelper(_ script: String) throws {
    let source = try TemporaryFolder()
    try "#!/bin/sh\n\(script)\n".write(toFile: source.file("netwatch-http"), atomically: true, encoding: .utf8)
    _ = try install(source.file("netwatch-http"))
  }
}
