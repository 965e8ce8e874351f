import Netwatch
import NetwatchEventLoop

/// Follows the addresses of one host name as they change. The watch belongs to the thread of its loop.
package final class HostWatch {
  private let name: HostName
  private let loop: EventLoop
  private let configuration: ResolverConfiguration
  private let changed: ([InternetAddress]?) -> Void
  private var machine: HostMachine
  private var watch: PathWatch?
  private var watchRetry: Retry?
  /// The lookup that runs; nil if there is none.
  private(set) var lookup: HostLookup?
  private var timer: LoopTimer?
  /// The effects that the machine wants, in order.
  private var effects: [HostMachine.Effect] = []
  private var isPerforming = false
  private var isStopped = false
  /// The error of the last lookup; nil if it succeeded, or if the first one still runs.
  package private(set) var failure: ResolverError?

  /// Starts to follow the name.
  ///
  /// - Parameter changed: The closure that is called on the loop, and never from within `init`: once when the first lookup has
  ///   ended, with nil if no server has answered, then with each other set of addresses. It may release the watch.
  package init(
    of name: HostName, on loop: EventLoop, _ configuration: ResolverConfiguration = .init(),
    changed: @escaping ([InternetAddress]?) -> Void
  ) {
    self.name = name
    self.loop = loop
    self.configuration = configuration
    self.changed = changed
    machine = HostMachine(refresh: configuration.refresh)
    timer = LoopTimer(on: loop) { [unowned self] in handle(.timerFired) }
    // Without this watch, a change of the configuration is noticed at the next refresh.
    watchRetry = Retry(on: loop) { [unowned self] in
      watch = try? PathWatch(of: [configuration.resolvConf, "/etc/hosts"], on: loop) { [unowned self] in
        handle(.changed)
      }
      return watch != nil
    }
    watchRetry?.begin()
    handle(.started)
  }

  deinit { stop() }

  /// The known addresses of the host.
  package var addresses: [InternetAddress] { machine.addresses }
  /// Whether a server has answered, even if it reported no address.
  package var isKnown: Bool { machine.isKnown }

  /// Looks the name up again because the path has changed: other name servers may be reachable, and may answer differently.
  package func pathChanged() { handle(.changed) }

  /// Stops following the name; `changed` is not called any more.
  package func stop() {
    isStopped = true
    watchRetry = nil
    watch = nil
    lookup = nil
    timer?.stop()
  }

  private func handle(_ event: HostMachine.Event) {
    guard !isStopped else { return }
    effects += machine.handle(event, at: loop.now)
    // An effect may cause an event at once. The effects of that event follow those that already wait.
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
