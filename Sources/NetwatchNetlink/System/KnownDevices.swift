import Netwatch

/// Adds to facts what only sysfs knows, asking once for each link, and again when somebody switches it on: a device of USB
/// comes in pieces, and the link may be there before the rest.
struct KnownDevices {
  private struct Device {
    let name: InterfaceName
    let hardwareAddress: UInt64?
    let isUp: Bool
    let traits: DeviceTraits
  }

  private var devices: [Int32: Device] = [:]
  private let read: (_ name: String, _ index: Int32, _ hardwareAddress: UInt64?) -> DeviceTraits

  /// - Parameter read: looks a link up in sysfs; no traits where the entry is of another one.
  init(read: @escaping (_ name: String, _ index: Int32, _ hardwareAddress: UInt64?) -> DeviceTraits) {
    self.read = read
  }

  /// Software links say their kind themselves. A partial message, as wireless events are, has a name but no address to
  /// compare: what is known stays.
  mutating func identify(_ fact: inout LinkFact) {
    guard fact.isComplete, let name = fact.name, fact.kind == nil, fact.flags & Interface.Flags.loopback == 0 else {
      return
    }
    let isUp = fact.flags & Interface.Flags.up != 0
    if let known = devices[fact.index], known.name == name, known.hardwareAddress == fact.hardwareAddress,
      known.isUp || !isUp
    {
      fact.device = known.traits
      return
    }
    let traits = read(name.text, fact.index, fact.hardwareAddress)
    devices[fact.index] = Device(name: name, hardwareAddress: fact.hardwareAddress, isUp: isUp, traits: traits)
    fact.device = traits
  }

  mutating func forget(_ index: Int32) { devices[index] = nil }
}
