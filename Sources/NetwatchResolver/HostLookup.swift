import Netwatch
import NetwatchEventLoop

/// One host name that is being looked up. On a loop, which it never blocks.
///
/// The name servers are asked first, and where they know of no address, the system, which may have other sources. A name
/// without a dot, or under `.local`, is none of theirs: the system alone is asked, and the hosts file where it cannot be.
///
/// It goes on as long as it is held. The body is called once, on the loop, never before `init` has returned and never
/// after ``cancel()``; it may let go of everything.
package final class HostLookup {
  private let name: HostName
  private let loop: EventLoop
  private let configuration: ResolverConfiguration
  private var body: ((Resolution.Outcome) -> Void)?
  private var servers: ServerLookup?
  private var system: SystemLookup?
  private var timer: LoopTimer?

  /// - Parameter body: gets an answer or an error, within the configuration's `timeout` and `systemTimeout`.
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

  /// Nothing is heard of it any more. Harmless where it has ended.
  package func cancel() {
    body = nil
    (timer, servers, system) = (nil, nil, nil)
  }

  /// - Parameter isAlone: the hosts file is asked, and no server.
  private func askServers(for ascii: HostName, inHostsFile isAlone: Bool = false) {
    servers = ServerLookup(of: name, ascii, on: loop, configuration, inHostsFile: isAlone) { [unowned self] outcome in
      switch (outcome, isAlone) {
      case (.failure(let error), false) where error.kind.isDefinite: askSystem(for: ascii, after: error)
      // There is nobody else whom the hosts file's silence could leave it to.
      case (.failure, true): conclude(.failure(error(.unavailable)))
      default: conclude(outcome)
      }
    }
  }

  /// - Parameter denial: what the name servers have said; it stands where the system says nothing else.
  private func askSystem(for ascii: HostName, after denial: ResolverError?) {
    guard let program = configuration.getent else {
      if let denial { return conclude(.failure(denial)) }
      return askServers(for: ascii, inHostsFile: true)
    }
    servers = nil
    system = SystemLookup(of: ascii, by: program, on: loop, configuration) { [unowned self] answer in
      switch answer {
      case .addresses(let addresses): conclude(.success(Resolution(addresses: addresses)))
      case .unavailable where denial == nil:
        system = nil
        askServers(for: ascii, inHostsFile: true)
      case .none, .silence, .unavailable: conclude(.failure(denial ?? error(answer)))
      }
    }
  }

  private func error(_ answer: SystemLookup.Answer) -> ResolverError {
    ResolverError(
      kind: answer == .silence ? .timedOut : .noSuchName, name: name.text, operation: configuration.getent ?? "hosts",
      code: 0,
      message: "\(answer)")
  }

  private func conclude(_ outcome: Resolution.Outcome) {
    let body = body
    cancel()
    withExtendedLifetime(self) { body?(outcome) }
  }
}

extension HostName {
  /// It is known by the machines around us, and by no name server (RFC 6762 for `.local`).
  fileprivate var isOfThisNetwork: Bool {
    let labels = name.split(separator: ".")
    return labels.count == 1 || labels.last == "local"
  }
}
