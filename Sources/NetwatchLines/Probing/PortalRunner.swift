import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchNetlink

/// Asks the portal API of the network by running a ``PortalMachine``. Each request is a short-lived process of ``HelperProgram/http``.
///
/// The runner never waits. A request does not outlive it.
final class PortalRunner {
  /// The most bytes to read: more than the helper prints, two addresses of 8,192 bytes and some numbers.
  private static let answerSize = 32_768

  private let program: String
  private let userAgent: String
  private let loop: EventLoop
  private let nameServers: () -> [InternetAddress]
  private let warn: (_ sentence: String) -> Void
  private let concluded: (_ reason: ReachabilityReason?) -> Void
  private var schedule: PortalSchedule?
  private var child: (number: Int, process: OwnChild)?
  private var messages: Set<String> = []

  /// Creates a runner that asks nothing yet.
  ///
  /// - Parameters:
  ///   - nameServers: Returns the name servers of the link that carries the path.
  ///   - concluded: The closure that is called when a request has ended or the session ends soon, with the reason for a new line; nil if
  ///     there is nothing to say.
  /// - Throws: A `PlainError` if the helper is not installed, or the kernel is older than Linux 5.3.
  init(
    _ settings: PortalSettings, on loop: EventLoop, nameServers: @escaping () -> [InternetAddress],
    warn: @escaping (_ sentence: String) -> Void, concluded: @escaping (_ reason: ReachabilityReason?) -> Void
  ) throws(PlainError) {
    guard ChildProcess.canTellEndings else { throw PlainError("--portal-api needs Linux 5.3 or later") }
    if let helper = settings.helper {
      program = helper
    } else {
      program = try HelperProgram.http.find(for: "--portal-api")
    }
    userAgent = settings.userAgent
    self.loop = loop
    self.nameServers = nameServers
    self.warn = warn
    self.concluded = concluded
    schedule = PortalSchedule(
      on: loop, start: { [unowned self] in start($0, $1, over: $2) },
      kill: { [unowned self] number in if child?.number == number { child = nil } },
      concluded: { [unowned self] in self.concluded($0) })
  }

  deinit { stop() }

  /// What the API has answered, with the time that remains now. Nil if there is no answer.
  var portal: CaptivePortal? { schedule?.portal }
  /// Whether a first answer is still to come.
  var awaitsAnswer: Bool { schedule?.awaitsAnswer ?? false }

  /// Asks what this path's network names from now on. Call this after the line of the path is written.
  func follow(_ announcements: NetworkAnnouncements?, on path: NetworkPath) {
    schedule?.follow(announcements, on: path)
  }

  /// Ends the request that runs and makes no more.
  func stop() {
    child = nil
    schedule?.stop()
  }

  private func start(_ number: Int, _ address: PortalURL, over interface: InterfaceName) {
    do throws(SystemError) {
      let output = try Pipe()
      try output.readWithoutWaiting()
      let words =
        ["portal", "--interface=\(interface.text)", "--user-agent=\(userAgent)"]
        + nameServers().map { "--name-server=\($0)" } + ["--", address.description]
      // If the loader cannot load the helper, its message comes through the same pipe.
      let process = OwnChild(
        try ChildProcess.spawn(
          program, words, descriptors: [(output.write, STDOUT_FILENO), (output.write, STDERR_FILENO)],
          closesOthers: true))
      try process.whenEnded(on: loop) { [unowned self] ending in conclude(number, ending, output) }
      child = (number, process)
    } catch {
      tellOnce("--portal-api: \(HelperProgram.http.failure(toStart: program, error.code))")
      schedule?.handle(.ended(number, nil))
    }
  }

  private func conclude(_ number: Int, _ ending: ProcessEnding, _ output: Pipe) {
    child = nil
    let text = output.text(upTo: Self.answerSize)
    var portal: CaptivePortal?
    switch ending {
    case .exited(0):
      portal = CaptivePortal(json: text.utf8)
      if portal == nil, let line = text.split(separator: "\n").first {
        tellOnce("--portal-api: \(String(line).sanitizedForTerminal)")
      }
    case .exited: tellOnce("--portal-api: \(HelperProgram.http.failure(saying: text))")
    case .killed(let signal): tellOnce("--portal-api: \(HelperProgram.http.name) was ended by signal \(signal)")
    }
    schedule?.handle(.ended(number, portal))
  }

  private func tellOnce(_ message: String) {
    if messages.count < 16, messages.insert(message).inserted { warn(message) }
  }
}

/// The settings of requests to the portal API of the network: `--portal-api`.
package struct PortalSettings {
  /// The value of the requests' User-Agent field.
  var userAgent = "netwatch/\(NetwatchVersion.text)"
  /// The path of the helper. Nil, the default, for the one beside this program.
  package var helper: String?
  /// Whether the source fails if the helper is missing. Otherwise this is reported once, and nothing is asked. Default: true.
  package var isRequired = true
  /// Whether the first line waits for the answer, if the network is known to have an API then. Default: false.
  package var holdsFirstLine = false

  package init() {}
}
