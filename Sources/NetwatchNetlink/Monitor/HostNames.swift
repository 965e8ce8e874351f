import Netwatch
import NetwatchEventLoop

#if Hostnames
  import NetwatchResolver
#endif

/// The addresses of a monitor's target if that is a host. Without the package trait `Hostnames`, no name is looked up, and `init` throws.
///
/// It belongs to the thread of its loop.
final class TargetHost {
  #if Hostnames
    private let watch: HostWatch

    /// Starts to follow the name.
    ///
    /// - Parameters:
    ///   - refresh: The longest time for which an answer is used.
    ///   - startsProcesses: Whether the system may be asked for a name that no name server knows.
    ///   - changed: The closure that gets the addresses when they are known and at each change; nil if no server has answered.
    /// - Throws: A `PlainError` if the name is none.
    init(
      _ name: HostName, on loop: EventLoop, refresh: Duration, startsProcesses: Bool,
      changed: @escaping ([InternetAddress]?) -> Void
    ) throws {
      var configuration = ResolverConfiguration()
      if !startsProcesses { configuration.getent = nil }
      configuration.refresh = refresh
      watch = HostWatch(of: try name.inASCII(), on: loop, configuration, changed: changed)
    }

    var addresses: [InternetAddress] { watch.addresses }
    /// Whether a server has answered, even if it reported no address.
    var isKnown: Bool { watch.isKnown }
    /// Why the last lookup has failed; nil if it has not, or still runs.
    var problem: String? { watch.failure?.description }
    func pathChanged() { watch.pathChanged() }
    func stop() { watch.stop() }
  #else
    init(
      _ name: HostName, on loop: EventLoop, refresh: Duration, startsProcesses: Bool,
      changed: @escaping ([InternetAddress]?) -> Void
    ) throws {
      throw PlainError(
        "'\(name)' is a host name; enable the trait Hostnames of the package netwatch, or give an address")
    }

    var addresses: [InternetAddress] { [] }
    var isKnown: Bool { false }
    var problem: String? { nil }
    func pathChanged() {}
    func stop() {}
  #endif
}

/// A question to the configured name servers for the address of a probe's server. Without the package trait `Hostnames`, they are not
/// asked.
///
/// It belongs to the thread of its loop. Nothing is called any more when it is released.
final class ServerQuestion {
  /// The time to wait for a name server. A probe waits longer, so its result does not come first.
  private static let patience = Duration.seconds(4)
  /// The time to wait for a server that the silent resolver of this machine asks.
  private static let secondPatience = Duration.seconds(2)

  #if Hostnames
    private let host: HostName
    private let name: HostName
    private let servers: NameServers
    private let loop: EventLoop
    private let concluded: (StageFinding?) -> Void
    private var lookup: ServerLookup?

    /// Asks.
    ///
    /// - Parameters:
    ///   - servers: The servers that are configured.
    ///   - concluded: The closure that gets what the answers show; nil if they show nothing.
    init?(
      _ host: HostName, to servers: NameServers, on loop: EventLoop, concluded: @escaping (StageFinding?) -> Void
    ) {
      guard let name = try? host.inASCII() else { return nil }
      self.host = host
      self.name = name
      self.servers = servers
      self.loop = loop
      self.concluded = concluded
      var configuration = ResolverConfiguration()
      configuration.timeout = Self.patience
      lookup = ServerLookup(of: host, name, on: loop, configuration, inHostsFile: false) { [unowned self] outcome in
        let evidence = Self.evidence(of: outcome)
        if evidence == .noAnswer, servers.areBehindResolved { return askServersThemselves() }
        conclude(evidence)
      }
    }

    /// Asks the servers behind systemd-resolved, because that has no answer: only then it is known who fails.
    private func askServersThemselves() {
      var configuration = ResolverConfiguration()
      configuration.timeout = Self.secondPatience
      configuration.servers = servers.addresses.map { ResolverConfiguration.Server($0) }
      lookup = ServerLookup(of: host, name, on: loop, configuration, inHostsFile: false) { [unowned self] outcome in
        switch Self.evidence(of: outcome) {
        case .answered?: conclude(NameServers.asksByTLSOnly ? .tlsFailed : .resolverFailed)
        default: conclude(.noAnswer)
        }
      }
    }

    private func conclude(_ evidence: StageFinding.Evidence?) {
      lookup = nil
      concluded(evidence.map { StageFinding($0, servers.only) })
    }

    private static func evidence(of outcome: Resolution.Outcome) -> StageFinding.Evidence? {
      switch outcome {
      // The name is in the hosts file, so no server was asked.
      case .success(let resolution) where resolution.timeToLive == nil: nil
      case .success: .answered
      case .failure(let error):
        switch error.kind {
        case .noSuchName, .noAddress: .answered
        case .timedOut, .noServer: .noAnswer
        case .other: nil
        }
      }
    }
  #else
    init?(
      _ host: HostName, to servers: NameServers, on loop: EventLoop, concluded: @escaping (StageFinding?) -> Void
    ) { return nil }
  #endif
}
