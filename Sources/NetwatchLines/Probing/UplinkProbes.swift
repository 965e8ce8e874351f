import Netwatch
import NetwatchEventLoop
import NetwatchNetlink

/// Asks once over each uplink that works and is not in use whether the internet answers.
final class UplinkProbes {
  /// More uplinks are not asked over, because each takes a process.
  private static let most = 8

  private let settings: ProbeSettings
  private let loop: EventLoop
  private let warn: (_ sentence: String) -> Void
  private let answered: () -> Void
  private var runners: [Int32: ProbeRunner] = [:]
  /// What was found, by the index of the link.
  private(set) var answers: [Int32: InternetAccess] = [:]

  /// - Parameter answered: The closure that is called when there are more answers.
  init(
    _ settings: ProbeSettings, on loop: EventLoop, warn: @escaping (_ sentence: String) -> Void,
    answered: @escaping () -> Void
  ) {
    (self.settings, self.loop, self.warn, self.answered) = (settings, loop, warn, answered)
  }

  /// Whether an answer is still to come.
  var isAsking: Bool { runners.values.contains { $0.awaitsAnswer } }

  /// Asks over those uplinks that were not asked about.
  func ask(over uplinks: [Uplink]) {
    for uplink in uplinks where !uplink.isInUse && uplink.works && runners[uplink.interfaceIndex] == nil {
      guard runners.count < Self.most else { return }
      let index = uplink.interfaceIndex
      // Without the helper, nothing is known, and the probe over the path has already said so.
      let runner = try? ProbeRunner(
        settings, on: loop, warn: warn,
        answered: { [unowned self] _ in
          answers[index] = runners[index]?.internet
          answered()
        }, failed: { _ in })
      runners[index] = runner
      runner?.pathChanged(NetworkPath(as: uplink))
    }
  }

  func stop() { for runner in runners.values { runner.stop() } }
}

extension NetworkPath {
  /// Creates the path that would lead over an uplink, as far as a probe has to know it.
  fileprivate init(as uplink: Uplink) {
    var verdict = Verdict.notReachable
    verdict.status = ReachabilityStatus(of: uplink.medium)
    (verdict.medium, verdict.interfaceName, verdict.interfaceIndex) = (
      uplink.medium, uplink.kernelName, uplink.interfaceIndex
    )
    self.init(verdict: verdict, reason: .initial, interfaces: InterfaceTable())
  }
}
