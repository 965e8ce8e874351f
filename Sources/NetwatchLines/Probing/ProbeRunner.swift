import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchNetlink

/// The settings of internet probes: `--probe` and the options that belong to it.
package struct ProbeSettings {
  /// The URL that is requested.
  package let url: String
  /// The text that the response has to begin with; nil if the response has to be empty.
  package var expectation: String?
  /// The time to wait for a response. Default: 10 seconds.
  package var timeout = Duration.seconds(10)
  /// The time from a result to the next probe; zero for none. Default: 300 seconds.
  package var interval = Duration.seconds(300)
  /// The value of the request's User-Agent field.
  package let userAgent: String
  /// The path of the helper. Nil, the default, for the one beside this program.
  package var helper: String?
  /// Whether the source fails if no probe can be made. Otherwise this is reported once, and all results are unknown. Default:
  /// false.
  package var isRequired = false
  /// Whether the first line waits for its result, at most as long as a response may take. Default: false.
  package var holdsFirstLine = false

  /// The additional time for a helper that does not end at its timeout by itself.
  private static let grace = Duration.seconds(2)

  /// Creates settings with default times.
  package init(url: String, expectation: String?, userAgent: String) {
    self.url = url
    self.expectation = expectation
    self.userAgent = userAgent
  }

  /// The name of the host in the URL; nil if the URL has an address.
  package var host: HostName? {
    guard let scheme = url.firstRange(of: "://") else { return nil }
    let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    guard !host.hasPrefix("["), let name = host.split(separator: ":").first, InternetAddress(String(name)) == nil else {
      return nil
    }
    return try? HostName(String(name))
  }

  /// The times for the state machine of probes.
  package var timing: ProbeMachine.Timing {
    var timing = ProbeMachine.Timing()
    timing.limit = timeout + Self.grace
    timing.interval = interval
    return timing
  }
}

/// Probes the internet by running a ``ProbeMachine``. Each probe is a short-lived process of ``HelperProgram/http``.
///
/// The runner never waits. A probe does not outlive it.
package final class ProbeRunner {
  /// The most bytes to read: more than the helper prints, or the loader if it cannot load the helper.
  private static let answerSize = 4_096

  private let settings: ProbeSettings
  private let program: String
  private let loop: EventLoop
  private let warn: (_ sentence: String) -> Void
  private let begins: () -> Void
  private let answered: (_ isNews: Bool) -> Void
  private let failed: (PlainError) -> Void
  private var schedule: ProbeSchedule?
  private var child: (number: Int, process: OwnChild)?
  private var messages: Set<String> = []

  /// Creates a runner that makes no probe yet.
  ///
  /// - Parameters:
  ///   - warn: The closure that gets each sentence for people.
  ///   - begins: The closure that is called when a probe begins.
  ///   - answered: The closure that is called when a probe has ended; the result is in ``internet``.
  ///   - failed: The closure that is called when no probe can be made, if ``ProbeSettings/isRequired``.
  /// - Throws: A `PlainError` if the helper is not installed, or the kernel is older than Linux 5.3.
  package init(
    _ settings: ProbeSettings, on loop: EventLoop, warn: @escaping (_ sentence: String) -> Void,
    begins: @escaping () -> Void = {}, answered: @escaping (_ isNews: Bool) -> Void,
    failed: @escaping (PlainError) -> Void
  ) throws(PlainError) {
    guard ChildProcess.canTellEndings else { throw PlainError("--probe needs Linux 5.3 or later") }
    self.settings = settings
    self.loop = loop
    self.warn = warn
    self.begins = begins
    self.answered = answered
    self.failed = failed
    if let helper = settings.helper { program = helper } else { program = try HelperProgram.http.find(for: "--probe") }
    schedule = ProbeSchedule(
      settings.timing, on: loop, start: { [unowned self] in start($0, over: $1) },
      kill: { [unowned self] number in if child?.number == number { child = nil } },
      answered: { [unowned self] isNews in self.answered(isNews) })
  }

  deinit { stop() }

  /// The current result.
  package var internet: InternetAccess { schedule?.internet ?? .unknown }
  /// The address of the last login page; nil if there was none, or it did not give an address.
  package private(set) var portal: PortalURL?
  /// Whether a result is still to come.
  package var awaitsAnswer: Bool { schedule?.awaitsAnswer ?? false }

  /// Starts a probe for a new path if necessary. Call this for each new path, after its line is written.
  package func pathChanged(_ path: NetworkPath) { schedule?.handle(.path(path.verdict)) }

  /// Probes again soon, because the result may be old.
  func probeAgain() { schedule?.handle(.doubted) }

  /// Ends the running probe and makes no more.
  package func stop() {
    child = nil
    schedule?.stop()
  }

  // MARK: The process

  private func start(_ number: Int, over interface: InterfaceName) {
    do throws(SystemError) {
      let output = try Pipe()
      try output.readWithoutWaiting()
      // If the loader cannot load the helper, its message comes through the same pipe.
      let process = OwnChild(
        try ChildProcess.spawn(
          program, arguments(interface), descriptors: [(output.write, STDOUT_FILENO), (output.write, STDERR_FILENO)],
          closesOthers: true))
      try process.whenEnded(on: loop) { [unowned self] ending in conclude(number, ending, output) }
      child = (number, process)
      begins()
    } catch {
      fail(number, "--probe: \(HelperProgram.http.failure(toStart: program, error.code))")
    }
  }

  private func arguments(_ interface: InterfaceName) -> [String] {
    let seconds = settings.timeout / .seconds(1)
    return ["probe", "--interface=\(interface.text)", "--timeout=\(seconds)"]
      + (settings.expectation.map { ["--expect=\($0)"] } ?? [])
      + ["--user-agent=\(settings.userAgent)", "--", settings.url]
  }

  private func conclude(_ number: Int, _ ending: ProcessEnding, _ output: Pipe) {
    child = nil
    let text = output.text(upTo: Self.answerSize)
    switch ending {
    case .exited(0):
      let word = text.prefix { $0.isLetter }
      portal = text.split(separator: "\n").dropFirst().first.flatMap { PortalURL(String($0)) }
      schedule?.handle(.ended(number, InternetAccess(rawValue: String(word)) ?? .unknown))
    case .exited:
      fail(number, "--probe: \(HelperProgram.http.failure(saying: text))")
    case .killed(let signal):
      tellOnce("--probe: \(HelperProgram.http.name) was ended by signal \(signal)")
      schedule?.handle(.ended(number, .unknown))
    }
  }

  private func fail(_ number: Int, _ message: String) {
    if settings.isRequired { failed(PlainError(message)) } else { tellOnce(message) }
    schedule?.handle(.ended(number, .unknown))
  }

  private func tellOnce(_ message: String) {
    if messages.insert(message).inserted { warn(message) }
  }
}
