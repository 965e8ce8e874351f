import Glibc
import Netwatch
import NetwatchEventLoop

/// What is asked of whom, to find out whether the internet is there: `--probe` and what belongs to it.
package struct ProbeSettings {
  package let url: String
  /// What the answer has to begin with; nil where it has to be empty.
  package var expectation: String?
  /// How long an answer may take.
  package var timeout = Duration.seconds(10)
  /// From an answer to the next probe; zero for none.
  package var interval = Duration.seconds(300)
  /// What the helper says it is to the server.
  package let userAgent: String
  /// Whether nothing goes on where no probe can be made; else that is told once, and all is unknown.
  package var isRequired = false
  /// Whether the first line waits for the answer, at most for as long as an answer may take.
  package var holdsFirstLine = false

  /// The helper gives up by itself; this is for one that does not.
  private static let grace = Duration.seconds(2)

  package init(url: String, expectation: String?, userAgent: String) {
    self.url = url
    self.expectation = expectation
    self.userAgent = userAgent
  }

  /// The host that the URL names; nil where that is an address.
  package var host: HostName? {
    guard let scheme = url.firstRange(of: "://") else { return nil }
    let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    guard !host.hasPrefix("["), let name = host.split(separator: ":").first, IPAddress(String(name)) == nil else {
      return nil
    }
    return try? HostName(String(name))
  }

  package var timing: ProbeMachine.Timing {
    var timing = ProbeMachine.Timing()
    timing.limit = timeout + Self.grace
    timing.interval = interval
    return timing
  }
}

/// Probes the internet: runs a ``ProbeMachine``, each probe as a short-lived process of ``HelperProgram/http``.
///
/// It never waits. A probe does not outlive it.
package final class ProbeRunner {
  /// More than the helper says, and than the loader does where it cannot load it.
  private static let answerSize = 4_096

  private let settings: ProbeSettings
  private let program: String
  private let loop: EventLoop
  private let say: (_ sentence: String) -> Void
  private let begins: () -> Void
  private let answered: (_ isNews: Bool) -> Void
  private let failed: (PlainError) -> Void
  private var machine: ProbeMachine
  private var child: (number: Int, process: pid_t)?
  private var timer: LoopTimer?
  private var told: Set<String> = []
  private var clockWatch: WallClockWatch?

  /// - Parameters:
  ///   - say: gets each sentence for people.
  ///   - begins: called when a probe begins.
  ///   - answered: called when a probe has ended; ``internet`` says with what.
  ///   - failed: called when no probe can be made, if ``ProbeSettings/isRequired``.
  /// - Throws: where the helper is not installed, or the kernel is too old for it.
  package init(
    _ settings: ProbeSettings, on loop: EventLoop, say: @escaping (_ sentence: String) -> Void,
    begins: @escaping () -> Void = {}, answered: @escaping (_ isNews: Bool) -> Void,
    failed: @escaping (PlainError) -> Void
  ) throws(PlainError) {
    guard ChildProcess.canTellEndings else { throw PlainError("--probe needs Linux 5.3 or later") }
    self.settings = settings
    self.loop = loop
    self.say = say
    self.begins = begins
    self.answered = answered
    self.failed = failed
    program = try HelperProgram.http.find(for: "--probe")
    machine = ProbeMachine(settings.timing)
    timer = LoopTimer(on: loop) { [unowned self] in handle(.timerFired) }
    // Timers do not run while the machine sleeps. Without this, an answer may be old for once.
    clockWatch = try? WallClockWatch(on: loop) { [unowned self] in handle(.awoke) }
  }

  deinit { stop() }

  /// What is known now.
  package var internet: InternetAccess { machine.internet }
  /// Where the login page is that has answered last; nil if none has, or it does not say.
  package private(set) var portal: PortalURL?
  /// Whether an answer is still to come.
  package var awaitsAnswer: Bool { machine.awaitsAnswer }

  /// To be told of each new path, once its line is written.
  package func pathChanged(_ path: NetworkPath) { handle(.path(path.verdict)) }

  /// Ends the probe that runs, and makes none any more.
  package func stop() {
    end()
    timer?.stop()
  }

  private func handle(_ event: ProbeMachine.Event) {
    for effect in machine.handle(event, at: KernelClock.monotonic.now) {
      switch effect {
      case .start(let number, let interface): start(number, over: interface)
      case .kill(let number): if child?.number == number { end() }
      case .arm(let deadline): timer?.set(at: deadline)
      case .answer(_, let isNews): answered(isNews)
      }
    }
  }

  // MARK: The process

  private func start(_ number: Int, over interface: InterfaceName) {
    do throws(SystemError) {
      let output = try Pipe()
      try output.readWithoutWaiting()
      // What the loader says, if it cannot load the helper, comes the same way.
      let process = try ChildProcess.spawn(
        program, arguments(interface), descriptors: [(output.write, STDOUT_FILENO), (output.write, STDERR_FILENO)])
      try ChildProcess.whenEnded(process, on: loop) { [weak self] ending in self?.conclude(number, ending, output) }
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

  /// Nothing of it is left: SIGKILL, and its end is told as that of any other.
  private func end() {
    if let child { kill(-child.process, SIGKILL) }
    child = nil
  }

  private func conclude(_ number: Int, _ ending: ProcessEnding, _ output: Pipe) {
    guard child?.number == number else { return }
    child = nil
    let text = output.text(upTo: Self.answerSize)
    switch ending {
    case .exited(0):
      let word = text.prefix { $0.isLetter }
      portal = text.split(separator: "\n").dropFirst().first.flatMap { PortalURL(String($0)) }
      handle(.ended(number, InternetAccess(rawValue: String(word)) ?? .unknown))
    case .exited:
      fail(number, "--probe: \(HelperProgram.http.failure(saying: text))")
    case .killed(let signal):
      tellOnce("--probe: \(HelperProgram.http.name) was ended by signal \(signal)")
      handle(.ended(number, .unknown))
    }
  }

  private func fail(_ number: Int, _ message: String) {
    if settings.isRequired { failed(PlainError(message)) } else { tellOnce(message) }
    handle(.ended(number, .unknown))
  }

  private func tellOnce(_ message: String) {
    if told.insert(message).inserted { say(message) }
  }
}
