import Netwatch
import NetwatchEventLoop

/// The lookup of one host name in the hosts file, then by DNS, on a loop, which it never blocks.
///
/// The lookup continues as long as it is held. `body` is called once, on the loop, and never before `init` has returned. It may
/// release the lookup.
package final class ServerLookup {
  private let name: HostName
  private let loop: EventLoop
  private let sockets: LookupSockets
  private let deadline: Duration
  private var body: ((Resolution.Outcome) -> Void)?
  private var channel: AresChannel?
  /// The error that prevented the request; nil if there was none.
  private var refusal: ResolverError?
  private var timer: LoopTimer?

  /// Starts the lookup.
  ///
  /// - Parameters:
  ///   - name: The name for error messages.
  ///   - ascii: The name to look up, in ASCII.
  ///   - loop: The loop that the lookup belongs to.
  ///   - configuration: The servers and the time to wait.
  ///   - isAlone: Whether only the hosts file is read, and no server is asked.
  ///   - body: The closure that gets the addresses or an error, within the configuration's `timeout`.
  package init(
    of name: HostName, _ ascii: HostName, on loop: EventLoop, _ configuration: ResolverConfiguration,
    inHostsFile isAlone: Bool, _ body: @escaping (Resolution.Outcome) -> Void
  ) {
    self.name = name
    self.loop = loop
    self.body = body
    sockets = LookupSockets(on: loop)
    deadline = loop.now + configuration.timeout
    sockets.ready = { [unowned self] descriptor, readiness in
      // After an error, either call reports what has failed.
      channel?.process(
        readable: readiness.contains(.readable) || readiness.hasHungUp ? descriptor : nil,
        writable: readiness.contains(.writable) || readiness.hasHungUp ? descriptor : nil)
      advance()
    }
    do throws(ResolverError) {
      let channel = try AresChannel(for: name, configuration, inHostsFile: isAlone) { [sockets] in
        sockets.wait(for: $1, on: $0)
      }
      channel.ask(for: ascii.name)
      self.channel = channel
    } catch {
      refusal = error
    }
    timer = LoopTimer(on: loop) { [unowned self] in
      if loop.now >= deadline { channel?.giveUp() } else { channel?.process() }
      advance()
    }
    arm()
  }

  private func cancel() {
    body = nil
    timer = nil
    channel = nil
  }

  private var outcome: Resolution.Outcome? {
    if let refusal { return .failure(refusal) }
    if let error = sockets.error { return .failure(ResolverError(error, for: name)) }
    return channel?.outcome
  }

  /// Sets the timer. The outcome is always reported from the loop, even if it is already known.
  private func arm() {
    let now = loop.now
    timer?.set(at: outcome != nil ? now : min(deadline, channel?.patience.map { now + $0 } ?? deadline))
  }

  private func advance() {
    guard let outcome else { return arm() }
    let body = body
    cancel()
    withExtendedLifetime(self) { body?(outcome) }
  }
}

/// The sockets of one lookup on its loop.
///
/// They are separate from the lookup, because c-ares closes its sockets while the lookup is released.
private final class LookupSockets {
  private let loop: EventLoop
  private var registrations: [CInt: EventLoop.Registration] = [:]
  /// The first error. Without its sockets, a lookup would wait for nothing.
  private(set) var error: SystemError?
  var ready: (CInt, EventLoop.Readiness) -> Void = { _, _ in }

  init(on loop: EventLoop) { self.loop = loop }

  func wait(for interest: EventLoop.Readiness, on descriptor: CInt) {
    do throws(SystemError) {
      if interest.isEmpty {
        if let registration = registrations.removeValue(forKey: descriptor) { loop.remove(registration) }
      } else if let registration = registrations[descriptor] {
        try loop.change(registration, to: interest)
      } else {
        registrations[descriptor] = try loop.watch(descriptor, for: interest) { [unowned self] readiness in
          ready(descriptor, readiness)
        }
      }
    } catch {
      self.error = self.error ?? error
    }
  }
}
