import FoundationEssentials
import Glibc
import HTTPTypes
import NetwatchHTTP

/// An app with a background session, which may be killed at any time. From each line of its standard input, such as `get URL FILE`,
/// `put URL FILE` or `post URL FILE`, it makes a task. It prints `made ID LINE` when a task is stored, `end ID RESULT` for each end,
/// and `acknowledged ID` after it has taken note of one.
enum BackgroundProbe {
  static func main(_ identifier: String, worker: String) async throws {
    let session = try HTTPSessionManager.background(identifier, worker: URL(filePath: worker))
    let reader = Task {
      for await end in session.finishedEvents {
        switch end.result {
        case .success(let response): say("end \(end.id) \(response.status.code)")
        case .failure(let error): say("end \(end.id) \(error.kind.name): \(error.message)")
        }
        try await end.acknowledge()
        say("acknowledged \(end.id)")
      }
    }
    // An earlier process may have ended between making a task and beginning it.
    for task in await session.tasks() where task.state == .suspended { try task.resume() }
    for try await line in lines {
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 3 else { continue }
      let file = URL(filePath: words[2])
      let options = HTTPTaskOptions.with { $0.label = words[1] }
      let task: BackgroundTask
      switch words[0] {
      case "get": task = try await session.downloadTask(words[1], to: file, options: options)
      default:
        let method: HTTPRequest.Method = words[0] == "put" ? .put : .post
        task = try await session.uploadTask(HTTPCall(method, words[1]), from: .file(file), options: options)
      }
      say("made \(task.id) \(line)")
      try task.resume()
    }
    reader.cancel()
  }

  /// The lines of standard input. Reading waits on a thread of its own.
  private static var lines: AsyncStream<String> {
    AsyncStream { continuation in
      let thread = Task.detached {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
      }
      continuation.onTermination = { _ in thread.cancel() }
    }
  }

  /// Writes a line at once, so that nothing of it is lost if the process is killed.
  private static func say(_ text: String) {
    var line = text + "\n"
    line.withUTF8 { bytes in _ = unsafe write(STDOUT_FILENO, bytes.baseAddress, bytes.count) }
  }
}
