/// The probe's server that answers as it is told, on port 80 of a network of a test's.
final class AnswerServer {
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
