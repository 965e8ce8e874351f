import Netwatch

/// Where what a source knows of the world comes from. A trace is that of a source with one watcher.
package enum NetlinkInput {
  case kernel
  /// From the kernel, and into a trace.
  case recorded(TraceWriter)
  /// From a trace. The kernel is not asked and not told anything.
  case replayed(TracePlayer)

  /// Calls `body` once if nothing more can be recorded or replayed.
  package func onFailure(_ body: @escaping (TraceError) -> Void) {
    switch self {
    case .kernel: break
    case .recorded(let recorder): recorder.onFailure = body
    case .replayed(let player): player.onFault = body
    }
  }

  var isReplayed: Bool {
    if case .replayed = self { true } else { false }
  }

  /// There is nothing more to replay, so whatever is concluded now has no ground.
  var isLost: Bool {
    if case .replayed(let player) = self { player.fault != nil } else { false }
  }

  func moment(of cause: TraceCause) -> NetlinkReachability.Moment {
    switch self {
    case .kernel: return .now
    case .recorded(let recorder):
      let moment = NetlinkReachability.Moment.now
      recorder.write(cause, at: moment)
      return moment
    case .replayed(let player): return player.moment(of: cause)
    }
  }

  /// The namespaces that this process has of its own.
  var namespaces: OwnNamespaces {
    if case .replayed(let player) = self { return player.namespaces }
    let namespaces = ProcessNamespaces.own
    if !namespaces.isEmpty, case .recorded(let recorder) = self { recorder.write(namespaces) }
    return namespaces
  }

  func traits(name: String, index: Int32, hardwareAddress: UInt64?) -> DeviceTraits {
    if case .replayed(let player) = self { return player.traits(ofLink: index) }
    let traits = DeviceIdentity().traits(name: name, index: index, hardwareAddress: hardwareAddress)
    if case .recorded(let recorder) = self { recorder.write(traits, ofLink: index) }
    return traits
  }
}
