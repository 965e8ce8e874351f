/// What the user says of links by their names, or that of their wireless network, where the kernel says nothing or too much.
package struct NamedLinks: Sendable {
  typealias Rule = @Sendable (_ name: String) -> Bool

  private let isModem: Rule?
  private let isTunnel: Rule?
  private let isIgnored: Rule?
  private let isExpensive: (@Sendable (_ interface: String, _ network: SSID?) -> Bool?)?

  package init(_ configuration: MonitorConfiguration = .init()) {
    isModem = configuration.isModem
    isTunnel = configuration.isTunnel
    isIgnored = configuration.ignoresInterface
    isExpensive = configuration.isExpensive
  }

  func mark(_ interface: inout Interface) {
    if let isModem { interface.device.isModem = isModem(interface.name) }
    if let isTunnel { interface.isNamedTunnel = isTunnel(interface.name) }
    if let isIgnored { interface.isIgnored = isIgnored(interface.name) }
    if let isExpensive { interface.userSaysExpensive = isExpensive(interface.name, interface.wireless?.ssid) }
    // A link that is treated as if it were not there is a port of nothing.
    if interface.isIgnored { interface.masterIndex = nil }
  }
}
