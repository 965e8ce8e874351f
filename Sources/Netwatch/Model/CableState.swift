/// What a network card says about its cable, as its driver reports it (`ethtool`). What the driver does not report is nil or empty.
public struct CableState: Hashable, Sendable {
  /// Why there is no carrier, as far as the driver can tell. The cases are in the order of `enum ethtool_link_ext_state` of
  /// <linux/ethtool.h>.
  public enum Absence: String, Hashable, Sendable, CaseIterable {
    /// Both ends could not agree on a mode.
    case negotiation
    /// The signal could not be adjusted to the cable.
    case linkTraining = "link_training"
    /// The ends understand different codes.
    case logicalMismatch = "logical_mismatch"
    /// The signal is too bad.
    case badSignal = "bad_signal"
    /// No cable is plugged in.
    case noCable = "no_cable"
    /// The cable or the module in the socket does not work.
    case cableFault = "cable_fault"
    /// The memory of the cable or of the module cannot be read.
    case unreadableModule = "unreadable_module"
    /// The signal could not be calibrated.
    case calibration
    /// The module needs more power than the card has.
    case power
    /// The module is too hot.
    case overheated
    /// The module is not ready.
    case module
  }

  /// The name of the interface, in the kernel's bytes.
  package let kernelName: InterfaceName
  /// The speed in megabits per second. Nil without a carrier, and if the driver does not know it.
  public let megabitsPerSecond: Int?
  /// Whether both ends can send at the same time.
  public let isFullDuplex: Bool?
  /// The modes that this end offers, by the names that ethtool uses, such as `1000baseT/Full`.
  public let modes: [String]
  /// The modes that the other end offers. Empty also if both ends do not negotiate, or the driver does not tell.
  public let peerModes: [String]
  /// Why there is no carrier.
  public let absence: Absence?

  package init(
    of kernelName: InterfaceName, megabitsPerSecond: Int? = nil, isFullDuplex: Bool? = nil, modes: [String] = [],
    peerModes: [String] = [], absence: Absence? = nil
  ) {
    self.kernelName = kernelName
    self.megabitsPerSecond = megabitsPerSecond
    self.isFullDuplex = isFullDuplex
    self.modes = modes
    self.peerModes = peerModes
    self.absence = absence
  }

  /// The name of the interface.
  public var interfaceName: String { kernelName.text }

  /// The speed of the fastest mode that both ends offer, in megabits per second. Nil if they offer none, or it is not known.
  public var possibleMegabitsPerSecond: Int? { Set(modes).intersection(peerModes).compactMap(Self.speed).max() }

  /// The speed that both ends offer, if they use a slower one: the cable is damaged, or too long or too simple for it. Otherwise nil.
  public var missedMegabitsPerSecond: Int? {
    guard let megabitsPerSecond, let possible = possibleMegabitsPerSecond else { return nil }
    return possible > megabitsPerSecond ? possible : nil
  }

  /// Whether the driver reports nothing.
  package var isEmpty: Bool { self == CableState(of: kernelName) }

  /// Returns the speed in the name of a mode: the digits before `base`. Nil if the name is of something else, such as `Autoneg`.
  private static func speed(_ mode: String) -> Int? {
    let digits = mode.prefix { $0.isASCII && $0.isNumber }
    return mode.dropFirst(digits.count).hasPrefix("base") ? Int(digits) : nil
  }
}

extension CableState {
  /// The state in words for people, such as `1000 Mb/s, full duplex`; nil if nothing of it is known.
  package var words: String? {
    var parts: [String] = []
    if let megabitsPerSecond {
      let missed = missedMegabitsPerSecond.map { " although both ends can do \($0)" } ?? ""
      parts.append("\(megabitsPerSecond) Mb/s\(missed)")
    }
    if let isFullDuplex { parts.append(isFullDuplex ? "full duplex" : "half duplex") }
    if let absence { parts.append("\(absence.words)") }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}

extension CableState.Absence {
  /// The reason in words for people.
  package var words: StaticString {
    switch self {
    case .negotiation: "both ends could not agree on a mode"
    case .linkTraining: "the signal could not be adjusted to the cable"
    case .logicalMismatch: "the ends use different codes"
    case .badSignal: "the signal is too bad"
    case .noCable: "no cable is plugged in"
    case .cableFault: "the cable or its module does not work"
    case .unreadableModule: "the module cannot be read"
    case .calibration: "the signal could not be calibrated"
    case .power: "the module needs more power than there is"
    case .overheated: "the module is too hot"
    case .module: "the module is not ready"
    }
  }
}
