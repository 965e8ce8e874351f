import Netwatch
import NetwatchStream

/// The code of the article on activity.
struct ActivityExamples {
  func upload(_ data: [UInt8], showing activity: ActivityIndicator) async throws {
    let request = activity.begin("upload")
    defer { request.end() }
    try await send(data)
  }

  func observe(_ activity: ActivityIndicator) {
    let id: RequestID = "page 7"
    activity.began(id, isIndicated: true)
    activity.ended(id)
  }

  @MainActor func show(_ activity: ActivityIndicator, in spinner: Spinner) -> CallbackSubscription {
    activity.onVisibilityChange { spinner.isHidden = !$0 }
  }

  func light(_ activity: ActivityIndicator) throws -> ActivityReporter {
    try ActivityReporter(of: activity)
  }

  private func send(_ data: [UInt8]) async throws {}
}

/// A view of an app.
@MainActor final class Spinner {
  var isHidden = true
}
