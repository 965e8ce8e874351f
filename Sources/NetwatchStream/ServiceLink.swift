import Netwatch
import NetwatchEventLoop

/// A connection to whichever service there is, made again when one comes.
///
/// On a loop, whose thread it belongs to.
package final class ServiceLink {
  package struct Handlers {
    /// A service answers: the moment to say what it has to know.
    let connected: () -> Void
    let record: (EventRecord) -> Void
    /// It is gone. A new one is waited for.
    let lost: () -> Void

    package init(
      connected: @escaping () -> Void = {}, record: @escaping (EventRecord) -> Void = { _ in },
      lost: @escaping () -> Void = {}
    ) {
      self.connected = connected
      self.record = record
      self.lost = lost
    }
  }

  /// The socket's file is there before anyone listens, and systemd does not touch it afterwards: after a sign of life, a
  /// few tries, then silence until the next sign.
  private static let retries: [Duration] = [.milliseconds(20), .milliseconds(80), .milliseconds(400)]

  private let loop: EventLoop
  private let addresses: [ServiceAddress]
  private let handlers: Handlers
  private var client: EventClient?
  private var watch: PathWatch?
  private var retry: LoopTimer?
  private var attempt = 0
  /// Whether the service has said anything of the stream: one that refuses us does not.
  private var isWelcome = false

  package init(
    to addresses: [ServiceAddress] = ServiceAddress.candidates, on loop: EventLoop, handlers: Handlers
  ) {
    self.loop = loop
    self.addresses = addresses
    self.handlers = handlers
    retry = LoopTimer(on: loop) { [unowned self] in connect() }
  }

  package var isConnected: Bool { client != nil }
  /// Whether what the service says of reachability holds for this process. Known from the first record on.
  package private(set) var sharesNetwork = false

  /// Connects where a service is, and waits for one where not.
  package func start() {
    // The watch first: a service that comes in between is not missed.
    if watch == nil {
      watch = try? PathWatch(of: addresses.map(\.path), for: .arrival, on: loop) { [unowned self] in look() }
    }
    connect()
  }

  package func send(_ text: String) { client?.send(text) }

  private func look() {
    attempt = 0
    connect()
  }

  private func connect() {
    guard client == nil else { return }
    for address in addresses {
      guard let descriptor = ServiceConnection.open(address) else { continue }
      let process = Peer(of: descriptor.rawValue)?.process
      let made = try? EventClient(
        descriptor, on: loop,
        handlers: .init(
          record: { [unowned self] record, identity in
            if identity != nil || !isWelcome {
              sharesNetwork = ServiceIdentity.sharesNetwork(identity, of: process)
            }
            isWelcome = true
            handlers.record(record)
          }, answer: { _ in }, lost: { [unowned self] in lose() }))
      guard let made else { continue }
      client = made
      handlers.connected()
      return
    }
    tryAgain()
  }

  private func tryAgain() {
    guard attempt < Self.retries.count else { return }
    retry?.set(after: Self.retries[attempt])
    attempt += 1
  }

  private func lose() {
    // Held until this returns: its handler is on the stack.
    let old = client
    client = nil
    handlers.lost()
    // Who refuses us would be asked for ever.
    if isWelcome { look() } else { tryAgain() }
    isWelcome = false
    withExtendedLifetime(old) {}
  }
}
