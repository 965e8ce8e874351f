import Netwatch
import NetwatchEventLoop

/// The identity of a machine in a fleet: 16 hexadecimal digits that come from /etc/machine-id, `-`, and 16 random ones. It reveals
/// neither the machine's ID nor its name. It is a part of topics, and the name of the machine's login.
package struct MachineID: Hashable, Sendable, CustomStringConvertible {
  package let description: String

  /// - Returns: Nil if the text has another form.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == Self.digits && $0.utf8.allSatisfy(\.isLowercaseHex) })
    else { return nil }
    description = String(text)
  }

  private init(machine: String, random: UInt64) { description = "\(machine)-\(Self.hex(random))" }

  private static let digits = 16

  /// The random ID of this use, so that other programs make other IDs of the same machine.
  private static let application: [UInt8] = [
    0x91, 0xd2, 0x4e, 0x07, 0xb8, 0x3c, 0x4a, 0x65, 0xaf, 0x10, 0x6e, 0xf3, 0x2d, 0x58, 0xc9, 0x74,
  ]

  /// A new identity for this machine.
  package static func new() -> MachineID {
    MachineID(machine: ofThisMachine, random: .random(in: 0 ... .max))
  }

  /// Whether the identity was made on a machine with another /etc/machine-id, such as the one whose disk was copied. A machine without
  /// one, or whose one cannot be read now, says nothing about that.
  package var isForeign: Bool {
    let (own, machine) = (Self.ofThisMachine, description.prefix(Self.digits))
    return own != Self.hex(0) && machine != Self.hex(0) && machine != own
  }

  /// The digits for this machine; zeros if it has no ID, as in many containers.
  private static var ofThisMachine: String {
    guard let code = MachineKey.read(for: application) else { return hex(0) }
    return hex(code.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
  }

  private static func hex(_ number: UInt64) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: digits - text.utf8.count) + text
  }
}

extension UInt8 {
  fileprivate var isLowercaseHex: Bool { 0x30...0x39 ~= self || 0x61...0x66 ~= self }
}
