import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop
import NetwatchHTTP
import NetwatchLibC
import NetwatchOptions
import NetwatchStream

/// One run of `get`. The main thread's loop handles the signals and the progress, and the session's own thread handles the
/// rest.
final class Getter {
  private static let longestPause = Duration.seconds(60)
  private static let longestGoodbye = Duration.milliseconds(500)

  private let options: GetOptions
  private let address: WebAddress
  /// The name of the file in messages.
  private let name: String
  private let loop: EventLoop
  private let indicator = ActivityIndicator()
  private let display: ProgressDisplay
  private let destination: Destination
  private var session: HTTPSessionManager?
  private var retrieval: (any Retrieval)?
  private var isRunning = false
  private var tries = 0
  private var signal: CInt?
  private var ending: ProcessEnding?
  private var rate = TransferRate()
  private var started = Duration.zero

  /// - Throws: A `PlainError` if the URL is wrong, a `GetFailure` if the file cannot be written, or a `SystemError`.
  init(_ options: GetOptions) throws {
    self.options = options
    address = try WebAddress(options.url)
    let path = options.output ?? address.fileName ?? "-"
    destination = try Destination(path)
    name = path == "-" ? "standard output" : path
    display = ProgressDisplay(isQuiet: options.isQuiet, sharesTerminal: destination.isTerminal)
    loop = try EventLoop()
  }

  /// Downloads the file.
  ///
  /// - Returns: How the process has to end.
  /// - Throws: A `GetFailure` if a pinned certificate cannot be read, or another error if the download cannot begin.
  func run() throws -> ProcessEnding {
    let signals = try SignalSource(Self.obeyedSignals, on: loop) { [unowned self] in handle($0.number) }
    let reporter = try ActivityReporter(of: indicator, label: address.host)
    var configuration = HTTPSessionConfiguration()
    configuration.pathLossGrace = options.pathLossGrace
    session = try HTTPSessionManager(
      configuration: configuration, policy: try Self.policy(pins: options.pins), observer: indicator, path: KernelPath()
    )
    started = KernelClock.monotonic.now
    begin()
    draw()
    try loop.run()
    if case .exited = ending { try close() }
    withExtendedLifetime((signals, reporter)) {}
    return ending ?? .exited(1)
  }

  /// Waits for the end of the session, because OpenSSL frees its state at the end of the process, and must not be in use then.
  private func close() throws(SystemError) {
    guard let session else { return }
    session.invalidate()
    let handle = loop.handle
    Task {
      await session.waitUntilInvalidated()
      handle.submit { $0.stop() }
    }
    try loop.run()
  }

  /// - Parameter pins: The paths of certificates.
  static func policy(pins: [String]) throws -> SecurityPolicy {
    guard !pins.isEmpty else { return .system }
    let pins = try pins.flatMap { path in
      do throws(HTTPError) {
        return try X509Certificate.load(URL(literally: path))
      } catch {
        throw GetFailure("no certificate to pin in \(path): \(error.message)")
      }
    }
    return try SecurityPolicy(.publicKey, pins: pins)
  }

  static func request(_ address: WebAddress, headers: [String]) throws -> HTTPRequest {
    guard let url = URL(reference: address.text.utf8) else { throw HTTPError(.badURL, "request") }
    var request = try HTTPRequest(.get, to: url)
    request.headerFields[.userAgent] = "netwatch"
    // Requests the bytes of the file without compression, wherever they go.
    request.headerFields[.acceptEncoding] = "identity"
    for text in headers {
      let header = try HTTPField(option: text)
      request.headerFields[header.name] = header.value
    }
    return request
  }

  // MARK: Tries

  private func begin() {
    isRunning = true
    tries += 1
    let (handle, own) = (loop.handle, LoopBound(self, on: loop))
    let ended: @Sendable (HTTPError?) -> Void = { error in handle.submit { own.value(on: $0)?.ended(error) } }
    do {
      guard let session else { throw HTTPError(.invalidated, "get") }
      let request = try Self.request(address, headers: options.headers)
      var taskOptions = HTTPTaskOptions()
      taskOptions.executor = .immediate
      taskOptions.credential = address.user.map { HTTPCredential(user: $0, password: address.password ?? "") }
      switch destination {
      case .file(let url):
        let download = session.resumableDownload(
          request, to: url, replacesExisting: options.replacesFile, options: taskOptions
        ) { result in
          if case .failure(let error) = result { ended(error) } else { ended(nil) }
        }
        retrieval = download
        download.resume()
      case .stream(let descriptor):
        retrieval = StreamCopy(
          session, request, taskOptions, to: descriptor, name, refusesBinary: destination.isTerminal, completion: ended)
      }
    } catch {
      ended(error as? HTTPError ?? HTTPError(.other, "get", message: "\(error)"))
    }
  }

  private func ended(_ error: HTTPError?) {
    guard isRunning, ending == nil else { return }
    isRunning = false
    display.clear()
    guard let error else { return succeed() }
    if signal != nil { return interrupted() }
    let failure = GetFailure(error, address, name, pins: !options.pins.isEmpty)
    let kept = retrieval?.kept
    let mayGoOn = kept != nil || retrieval.map { $0.amount.received == 0 || !($0 is StreamCopy) } ?? true
    guard failure.mayPass, mayGoOn, tries <= options.retries else {
      let advice = kept.map { "; \($0.asBytes) are kept, and the same command goes on from there" } ?? ""
      StandardError.warn(failure.description.sanitizedForTerminal + advice)
      return finish(.exited(1))
    }
    let pause = min(Self.longestPause, .seconds(1 << min(tries - 1, 6)))
    StandardError.warn("\(failure.description.sanitizedForTerminal); trying again in \(pause.components.seconds) s")
    loop.schedule(after: pause) { [unowned self] in if ending == nil { begin() } }
  }

  private func succeed() {
    if display.hasReader, let amount = retrieval?.amount {
      let elapsed = KernelClock.monotonic.now - started
      StandardError.write("\(name.sanitizedForTerminal): \(amount.received.asBytes) in \(elapsed.asClock)\n")
    }
    finish(.exited(0))
  }

  private func finish(_ ending: ProcessEnding) {
    self.ending = ending
    loop.stop()
  }

  // MARK: Signals

  /// The signals that are obeyed. A signal that the parent process ignores, as with nohup, stays ignored.
  private static var obeyedSignals: [CInt] {
    [SIGINT, SIGTERM, SIGHUP].filter { number in
      var action = sigaction()
      unsafe sigaction(number, nil, &action)
      return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        != (unsafe unsafeBitCast(SIG_IGN, to: Int.self))
    }
  }

  private func handle(_ number: CInt) {
    guard ending == nil else { return }
    // Nothing of a stream is kept, and a user who interrupts twice does not want to wait.
    let isOver = !isRunning || signal != nil || retrieval is StreamCopy
    signal = number
    retrieval?.stop()
    if isOver { return interrupted() }
    // libcurl waits for the lookup of the host's name before it gives up. The received bytes are already on the disk.
    loop.schedule(after: Self.longestGoodbye) { [unowned self] in
      if ending == nil { interrupted() }
    }
  }

  private func interrupted() {
    display.clear()
    if let kept = retrieval?.kept {
      StandardError.warn("interrupted; \(kept.asBytes) are kept, and the same command goes on from there")
    } else if case .file = destination, retrieval?.amount.received ?? 0 > 0 {
      StandardError.warn(
        "interrupted; nothing is kept, because the server does not say whether its file stays the same")
    } else {
      StandardError.warn("interrupted")
    }
    finish(.killed(signal: signal ?? SIGTERM))
  }

  // MARK: Progress

  private func draw() {
    let now = KernelClock.monotonic.now
    if isRunning, let amount = retrieval?.amount {
      rate.note(amount.received, at: now)
      display.draw(
        ProgressLine(
          received: amount.received, total: amount.total, bytesPerSecond: rate.bytesPerSecond,
          timeLeft: rate.timeLeft(of: amount.total)))
    }
    loop.schedule(at: now + ProgressDisplay.interval) { [unowned self] in draw() }
  }
}
