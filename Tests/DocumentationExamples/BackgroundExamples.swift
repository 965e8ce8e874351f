import FoundationEssentials
import HTTPTypes
import NetwatchHTTP

/// The code of the article about transfers in the background.
struct BackgroundExamples {
  let file: URL
  let archive: URL
  let base: URL
  let task: BackgroundTask

  func download() async throws {
    let session = try HTTPSessionManager.background("models")
    let task = try await session.downloadTask(
      "https://example.org/model.bin", to: file, conditions: .discretionary)
    try task.resume()
  }

  func follow() async throws {
    let session = try HTTPSessionManager.background("models")
    for task in await session.tasks() { print(task.file.lastPathComponent, task.state, task.progress) }
    for await end in session.finishedEvents {
      switch end.result {
      case .success(let response): print("\(end.file.path): \(response.status)")
      case .failure(let error): print("\(end.file.path): \(error)")
      }
      try await end.acknowledge()
    }
  }

  func upload() async throws {
    var configuration = HTTPSessionConfiguration()
    configuration.maximumConnectionsPerHost = 2
    let session = try HTTPSessionManager.background(
      "backups", baseURL: base, configuration: configuration,
      credentialCommand: ["secret-tool", "lookup", "service", "backups"])
    var tonight = BackgroundConditions()
    tonight.isOnPower = true
    tonight.earliestBegin = Date(timeIntervalSinceNow: 8 * 3_600)
    let task = try await session.uploadTask(
      HTTPCall(.put, "today.tar"), from: try .file(archive), conditions: tonight
    ) { print($0) }
    try task.resume()
  }

  func change() async throws {
    try task.suspend()
    try task.resume()
    try task.cancel()
    for await state in task.states { print(state) }
  }
}
