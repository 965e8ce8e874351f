import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// How far a transfer is, for people.
extension TransferRecord {
  package enum Standing: Sendable {
    case running(HTTPProgress)
    /// It waits, for a reason in words.
    case waiting(String)
    case paused
    case done
    case failed(String)
    case cancelled
    /// Nobody knows whether the server has acted on the request.
    case unknown
  }

  /// - Parameter surroundings: What the worker sees around the machine; nil if no worker runs.
  package func standing(_ surroundings: TransferQueue.Surroundings?, in spool: TransferSpool) -> Standing {
    if phase == .ended {
      guard let error = end?.error(of: request) else { return .done }
      switch error.kind {
      case .cancelled: return .cancelled
      case .outcomeUnknown: return .unknown
      default: return .failed(Self.sentence(error))
      }
    }
    if isPaused, !isCancelled { return .paused }
    if let progress = ProgressFile.read(spool.path(id, "progress")), surroundings != nil { return .running(progress) }
    return .waiting(reason(surroundings))
  }

  private func reason(_ surroundings: TransferQueue.Surroundings?) -> String {
    guard let surroundings else { return "waits for the program that carries it out" }
    let item = TransferQueue.Item(self, in: "")
    if let time = conditions.notBefore, time > Self.now {
      return "waits until \(Self.text(time))"
    }
    if !surroundings.hasPath, !item.isLocal { return "waits for the network" }
    if item.needsUnmetered, surroundings.isMetered { return "waits for a network that costs nothing" }
    if item.needsPower, !surroundings.isOnPower { return "waits for power" }
    if !item.accepts(surroundings.medium) { return "waits for \((conditions.media ?? []).joined(separator: " or "))" }
    return notice.map { "tries again: \($0)" } ?? "waits for its turn"
  }

  /// A time such as 2026-12-01 08:00 UTC.
  private static func text(_ seconds: Double) -> String {
    let time = CivilTime(secondsSince1970: Int64(max(0, min(seconds, 1e11))))
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(time.year)-\(two(time.month))-\(two(time.day)) \(two(time.hour)):\(two(time.minute)) UTC"
  }

  /// The failure in words, without the request, which people know.
  private static func sentence(_ error: HTTPError) -> String {
    if error.kind == .badServerResponse, let status = error.response?.status { return "the server answers \(status)" }
    return error.message.isEmpty ? "\(error.kind)" : "\(error.kind): \(error.message)"
  }
}
