import Netwatch
import NetwatchEventLoop

/// The lookup of one host name, on a loop, which it never blocks.
///
/// The name servers are asked first. If they report that there is no address, the system is asked, which may have other
/// sources. A name without a dot, or under `.local`, is not sent to the name servers: only the system is asked, or the hosts
/// file is read if the system cannot be asked.
///
/// The lookup continues as long as it is held. `body` is called once, on the loop. It is never called before `init` has
/// returned or after ``cancel()``. It may release the lookup.
package final class HostLookup {
  private let name: HostName
  private let loop: EventLoop
  private let configuration: ResolverConfiguration
  private var body: ((Resolution.Outcome) -> Void)?
  private var servers: ServerLookup?
  private var resolved: ResolvedLookup?
  private var system: SystemLookup?
  private var timer: LoopTimer?

  /// Starts the lookup.
  ///
  /// - Parameters:
  ///   - name: The name of the host.
  ///   - loop: The loop that the lookup belongs to.
  ///   - configuration: The servers and the times to wait.
  ///   - body: The closure that gets the addresses or an error, within the configuration's `timeout` plus `systemTimeout`.
  package init(
    of name: HostName, on loop: EventLoop, _ configuration: ResolverConfiguration = .init(),
    _ body: @escaping (Resolution.Outcome) -> Void
  ) {
    self.name = name
    self.loop = loop
    self.configuration = configuration
    self.body = body
    do throws(PlainError) {
      let ascii = try name.inASCII()
      if ascii.isOfThisNetwork { askSystem(for: ascii, after: nil) } else { askServers(for: ascii) }
    } catch {
      let error = ResolverError(
        kind: .noSuchName, name: name.text, operation: "idn2_lookup_u8", code: 0, message: error.description)
      timer = LoopTimer(on: loop) { [unowned self] in conclude(.failure(error)) }
      timer?.set(after: .zero)
    }
  }

  deinit { cancel() }

  /// Cancels the lookup; `body` is not called any more. If the lookup has ended, nothing happens.
  package func cancel() {
    body = nil
    (timer, servers, resolved, system) = (nil, nil, nil, nil)
  }

  /// - Parameter isAlone: Whether only the hosts file is read, and no server is asked.
  private func askServers(for ascii: HostName, inHostsFile isAlone: Bool = false) {
    servers = ServerLookup(of: name, ascii, on: loop, configuration, inHostsFile: isAlone) { [unowned self] outcome in
      switch (outcome, isAlone) {
      case (.failure(let error), false) where error.kind.isDefinite: askSystem(for: ascii, after: error)
      // If the hosts file does not have the name, there is no other source.
      case (.failure, true): conclude(.unavailable, after: nil, by: "hosts")
      default: conclude(outcome)
      }
    }
  }

  /// - Parameter denial: The error of the name servers. It is the outcome if the system does not know the name either.
  private func askSystem(for ascii: HostName, after denial: ResolverError?) {
    guard configuration.usesResolved else { return startProgram(for: ascii, after: denial) }
    servers = nil
    resolved = ResolvedLookup(of: ascii, at: configuration.resolved, on: loop, within: configuration.systemTimeout) {
      [unowned self] answer in
      resolved = nil
      if case .unavailable = answer {
        startProgram(for: ascii, after: denial)
      } else {
        conclude(answer, after: denial, by: "ResolveHostname")
      }
    }
  }

  private func startProgram(for ascii: HostName, after denial: ResolverError?) {
    guard let program = configuration.getent else {
      if let denial { return conclude(.failure(denial)) }
      return askServers(for: ascii, inHostsFile: true)
    }
    servers = nil
    system = SystemLookup(of: ascii, by: program, on: loop, configuration) { [unowned self] answer in
      if case .unavailable = answer, denial == nil {
        system = nil
        askServers(for: ascii, inHostsFile: true)
      } else {
        conclude(answer, after: denial, by: program)
      }
    }
  }

  /// - Parameter source: The program or the method that has answered, for an error.
  private func conclude(_ answer: SystemLookup.Answer, after denial: ResolverError?, by source: String) {
    if case .addresses(let addresses) = answer { return conclude(.success(Resolution(addresses: addresses))) }
    let error = ResolverError(
      kind: answer == .silence ? .timedOut : .noSuchName, name: name.text, operation: source, code: 0,
      message: "\(answer)")
    conclude(.failure(denial ?? error))
  }

  private func conclude(_ outcome: Resolution.Outcome) {
    let body = body
    cancel()
    withExtendedLifetime(self) { body?(outcome) }
  }
}

extension HostName {
  /// Whether the name is known only by machines of the local network, and not by name servers (RFC 6762 for `.local`).
  fileprivate var isOfThisNetwork: Bool {
    let labels = name.split(separator: ".")
    return labels.count == 1 || labels.last == "local"
  }
}
