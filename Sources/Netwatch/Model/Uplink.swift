/// A link over which the traffic could leave, judged as if it were the only one. No packet is sent for that.
public struct Uplink: Hashable, Sendable, Identifiable {
  /// The index of the link in the kernel's table.
  public let interfaceIndex: Int32
  /// The name of the link, in the kernel's bytes.
  package let kernelName: InterfaceName
  /// The kind of the link.
  public let medium: Medium
  /// Whether the link carries the traffic now.
  public let isInUse: Bool
  /// The stages of the way to the internet over this link. ``NetworkStages/dns`` is not examined, and ``NetworkStages/internet`` only if
  /// a probe has asked over this link.
  public package(set) var stages: NetworkStages

  package init(
    interfaceIndex: Int32, kernelName: InterfaceName, medium: Medium, isInUse: Bool, stages: NetworkStages
  ) {
    self.interfaceIndex = interfaceIndex
    self.kernelName = kernelName
    self.medium = medium
    self.isInUse = isInUse
    self.stages = stages
  }

  /// The index of the link.
  public var id: Int32 { interfaceIndex }
  /// The name of the link.
  public var interfaceName: String { kernelName.text }
  /// Whether no stage is known to fail: the link carries the traffic, or could.
  public var works: Bool { stages.failing == nil }

  /// Sets what a probe over this link has found.
  package mutating func set(_ internet: InternetAccess) { stages.internet = StageFinding(internet) }
}

extension Uplink: CustomStringConvertible {
  /// The link and its stages, such as `wwan wwan0: link ok, address ok, gateway failed, dns unknown, internet unknown`.
  public var description: String { "\(medium.rawValue) \(interfaceName): \(stages)" }
}
