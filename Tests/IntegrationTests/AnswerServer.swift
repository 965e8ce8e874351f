import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// The probe's server that answers as it is told, on port 80 of a network of a test's.
final class AnswerServer {
  /// Where it is found, if it is in `far` of two networks.
  static let url = "http://10.0.0.2/probe"

  private let process: ChildProcess

  init(in namespace: NetworkNamespace, answering answer: String = "204") throws {
    process = try ChildProcess(namespace.command([Programs.probe, "answer-server"]))
    guard try process.nextLine() == "ready" else { throw TestFailure("no server: \(try process.errorText())") }
    try self.answer(answer)
  }

  /// From now on.
  func answer(_ text: String) throws {
    process.write(text + "\n")
    try wait(for: "set")
  }

  /// The head of the next request, its lines with `|` between them.
  @discardableResult
  func nextRequest() throws -> String { try wait(for: "asked") }

  /// Waits until a client has left that waited for nothing.
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
  /// `netwatch --follow` that asks the server.
  func followProbing(_ options: String...) throws -> Follow {
    try Follow(
      ChildProcess(near.command([Programs.netwatch, "-f", "--json", "--probe", AnswerServer.url] + options)))
  }
}

extension Follow {
  var internets: [String?] { lines.map(\.internet) }

  /// Waits until at most `count` children are left.
  func waitUntilChildless(butFor count: Int = 0, at place: SourceLocation = #_sourceLocation) throws {
    try eventually(process.children, at: place) { $0.count <= count }
  }
}

extension ChildProcess {
  /// Those that it has started and not collected.
  var children: [pid_t] {
    let text = try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
    return (text ?? "").split(separator: " ").compactMap { pid_t($0) }
  }
}

extension TemporaryFolder {
  /// A shell script in the helper's place. Copied by another process: a program that some child of ours still has open to
  /// write, because it was forked meanwhile, cannot be run.
  func installHelper(_ script: String) throws {
    let source = try TemporaryFolder()
    try "#!/bin/sh\n\(script)\n".write(toFile: source.file("netwatch-http"), atomically: true, encoding: .utf8)
    _ = try install(source.file("netwatch-http"))
  }
}
