import Netwatch
import NetwatchEventLoop

/// The addresses of one host name, as they change. On a loop, whose thread it belongs to.
package final class HostWatch {
  private let name: HostName
  private let loop: EventLoop
  private let configuration: ResolverConfiguration
  private let changed: ([IPAddress]?) -> Void
  private var machine: HostMachine
  private var watch: PathWatch?
  private var lookup: HostLookup?
  private var timer: LoopTimer?
  /// What the machine wants done, in order.
  private var effects: [HostMachine.Effect] = []
  private var isPerforming = false
  private var isStopped = false
  /// Why the last lookup has failed; nil where it has not, or where it goes on for the first time.
  package private(set) var failure: ResolverError?

  /// Begins to follow.
  ///
  /// - Parameter changed: called on the loop and never from within `init`: once when the first lookup has ended, with nil
  ///   where nobody has answered, then with each other set of addresses. It may let go of the follower.
  package init(
    of name: HostName, on loop: EventLoop, _ configuration: ResolverConfiguration = .init(),
    changed: @escaping ([IPAddress]?) -> Void
  ) {
    self.name = name
    self.loop = loop
    self.configuration = configuration
    self.changed = changed
    machine = HostMachine(refresh: configuration.refresh)
    timer = LoopTimer(on: loop) { [unowned self] in handle(.timerFired) }
    // Without it, a change of the configuration is found out at the next refresh.
    watch = try? PathWatch(of: [configuration.resolvConf, "/etc/hosts"], on: loop) { [unowned self] in handle(.changed)
    }
    handle(.started)
  }

  deinit { stop() }

  /// Where the name leads, as far as is known.
  package var addresses: [IPAddress] { machine.addresses }
  /// Somebody has answered, though it be that there is no address.
  package var isKnown: Bool { machine.isKnown }

  /// The way to the network is another one: name servers may be reached now, and may answer differently.
  package func pathChanged() { handle(.changed) }

  /// Nothing is heard of it any more.
  package func stop() {
    isStopped = true
    watch = nil
    lookup = nil
    timer?.stop()
  }

  private func handle(_ event: HostMachine.Event) {
    guard !isStopped else { return }
    effects += machine.handle(event, at: KernelClock.monotonic.now)
    // An effect may be an event at once: it has its turn after those that wait.
    guard !isPerforming else { return }
    isPerforming = true
    defer { isPerforming = false }
    while !effects.isEmpty, !isStopped { perform(effects.removeFirst()) }
  }

  private func perform(_ effect: HostMachine.Effect) {
    switch effect {
    case .lookUp: lookUp()
    case .arm(let deadline): timer?.set(at: deadline)
    case .disarm: timer?.stop()
    case .publish: changed(machine.isKnown ? machine.addresses : nil)
    }
  }

  private func lookUp() {
    lookup = HostLookup(of: name, on: loop, configuration) { [unowned self] outcome in
      lookup = nil
      switch outcome {
      case .success(let resolution):
        failure = nil
        handle(.resolved(resolution))
      case .failure(let error):
        failure = error
        handle(.failed(error.kind))
      }
    }
  }
}
