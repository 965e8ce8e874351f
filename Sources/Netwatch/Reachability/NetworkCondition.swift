/// A condition on the network, for ``NetworkMonitor/holds(_:)`` and ``NetworkMonitor/waitUntil(_:within:clock:)``. The command has
/// the same ones for `--for`.
///
/// While nothing is reachable, only ``notReachable``, ``stage(_:)`` and ``uplink(_:)`` can hold; what is not known does not hold. Later versions can add values,
/// so give a `switch` a `default`.
public enum NetworkCondition: Hashable, Sendable {
  /// The target is reachable.
  case reachable
  /// The target is not reachable.
  case notReachable
  /// The status is ``ReachabilityStatus/wifi``: reachable, and not over a cellular modem.
  case wifi
  /// The status is ``ReachabilityStatus/wwan``: reachable over a cellular modem.
  case wwan
  /// The link that carries the traffic is known, and nothing shows that using it may cost money.
  case unmetered
  /// The traffic goes through a tunnel.
  case vpn
  /// The traffic goes through no tunnel.
  case notVPN
  /// A link of this kind carries the traffic, beneath any tunnel.
  case medium(Medium)
  /// The WiFi network with this name carries the traffic. Names are compared byte by byte.
  case ssid(SSID)
  /// A server on the internet has answered as it should. Needs ``MonitorConfiguration/probe``.
  case internet
  /// The network with this ID carries the traffic. Needs ``MonitorConfiguration/identifiesNetwork``.
  case network(NetworkIdentity)
  /// This stage of the way to the internet works. Needs ``MonitorConfiguration/watchesStages``; the stages `dns` and `internet` also
  /// need a probe.
  case stage(NetworkStage)
  /// A link of this kind carries the traffic or could: no stage of the way over it is known to fail. Holds also while another link carries
  /// the traffic. Needs ``MonitorConfiguration/judgesUplinks``.
  case uplink(Medium)

  /// Returns whether the condition holds for a path.
  public func holds(for path: NetworkPath) -> Bool {
    switch self {
    case .reachable: path.isReachable
    case .notReachable: path.status == .notReachable
    case .wifi: path.status == .wifi
    case .wwan: path.status == .wwan
    case .unmetered: path.isReachable && !path.isExpensive && path.isCarrierKnown
    case .vpn: path.isReachable && path.vpn != nil
    case .notVPN: path.isReachable && path.vpn == nil
    case .medium(let medium): path.isReachable && path.medium == medium && path.isCarrierKnown
    case .ssid(let ssid): path.verdict.ssid == ssid
    case .internet: path.isReachable && path.internet?.isFull ?? false
    case .network(let network): path.isReachable && path.network == network
    case .stage(let stage): path.stages?[stage].isOK ?? false
    case .uplink(let medium): path.uplinks?.contains { $0.medium == medium && $0.works } ?? false
    }
  }
}

extension NetworkPath {
  /// Whether it is known which link carries the traffic: there is no tunnel, or it is known what carries the tunnel.
  fileprivate var isCarrierKnown: Bool { vpn?.isCarrierKnown ?? true }
}

extension NetworkMonitor {
  /// Returns whether all of these conditions hold now. Can be called from any thread.
  ///
  /// ```swift
  /// if monitor.holds(.unmetered, .notVPN) { try await api.download(update) }
  /// ```
  public func holds(_ conditions: NetworkCondition...) -> Bool { holds(conditions, for: currentPath) }

  private func holds(_ conditions: [NetworkCondition], for path: NetworkPath) -> Bool {
    conditions.allSatisfy { $0.holds(for: path) }
  }

  /// Waits until all of these conditions hold at the same time.
  ///
  /// ```swift
  /// await monitor.waitUntil(.reachable)
  /// guard await monitor.waitUntil(.unmetered, within: .seconds(30)) else { return }
  /// ```
  ///
  /// - Parameters:
  ///   - conditions: The conditions.
  ///   - limit: The longest time to wait. Default: nil, no limit.
  ///   - clock: The clock that measures `limit`. Default: the clock that does not count while the machine is suspended.
  /// - Returns: Whether the conditions hold. False if the time is over, the task was cancelled, or netlink was lost; see
  ///   ``failure``.
  @discardableResult
  public func waitUntil(
    _ conditions: NetworkCondition..., within limit: Duration? = nil,
    clock: some Clock<Duration> = SuspendingClock()
  ) async -> Bool {
    if holds(conditions, for: currentPath) { return true }
    return await withTaskGroup(of: Bool.self) { group in
      group.addTask { await self.waitUntil(conditions) }
      if let limit {
        group.addTask {
          try? await clock.sleep(for: limit)
          return false
        }
      }
      defer { group.cancelAll() }
      return await group.next() ?? false
    }
  }

  private func waitUntil(_ conditions: [NetworkCondition]) async -> Bool {
    do {
      for try await path in paths where holds(conditions, for: path) { return true }
    } catch {}
    return false
  }
}

extension NetworkCondition: CustomStringConvertible {
  /// The condition as the command's `--for` has it, such as `unmetered` or `ssid=Home`.
  public var description: String {
    switch self {
    case .reachable: "reachable"
    case .notReachable: "not-reachable"
    case .wifi: "wifi"
    case .wwan: "wwan"
    case .unmetered: "unmetered"
    case .vpn: "vpn"
    case .notVPN: "not-vpn"
    case .medium(.wired): "wired"
    case .medium(let medium): "medium=\(medium.rawValue)"
    case .ssid(let ssid): "ssid=\(ssid.text)"
    case .internet: "internet"
    case .network(let network): "network=\(network)"
    case .stage(let stage): "stage=\(stage.rawValue)"
    case .uplink(let medium): "uplink=\(medium.rawValue)"
    }
  }
}
