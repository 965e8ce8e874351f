import CLinux
import Glibc

/// Sets the speed of a network card, as `ethtool -s NAME speed MBPS duplex full autoneg off` does.
enum CableSpeed {
  // <linux/ethtool.h>: the commands, and the offsets in struct ethtool_cmd.
  private static let (get, set): (UInt8, UInt8) = (1, 2)
  private static let (speedOffset, duplexOffset, negotiationOffset) = (12, 14, 18)

  static func set(_ name: String, _ megabits: UInt16) throws {
    var settings = [UInt8](repeating: 0, count: 44)
    settings[0] = get
    try ask(name, &settings)
    settings[0] = set
    settings[speedOffset] = UInt8(megabits & 0xff)
    settings[speedOffset + 1] = UInt8(megabits >> 8)
    settings[duplexOffset] = 1
    settings[negotiationOffset] = 0
    try ask(name, &settings)
    say("set")
  }

  private static func ask(_ name: String, _ settings: inout [UInt8]) throws {
    let ethtool: UInt = 0x8946  // SIOCETHTOOL
    let descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
    defer { close(descriptor) }
    let result = unsafe settings.withUnsafeMutableBytes { settings in
      // In struct ifreq, sixteen bytes of name come first, and then the address of the settings.
      var request = [UInt8](repeating: 0, count: 40)
      for (position, byte) in name.utf8.prefix(15).enumerated() { request[position] = byte }
      let address = UInt64(UInt(bitPattern: settings.baseAddress))
      for position in 0..<8 { request[16 + position] = UInt8(truncatingIfNeeded: address >> (8 * UInt64(position))) }
      return unsafe ioctl(descriptor, ethtool, &request)
    }
    guard result == 0 else { throw ProbeFailure("SIOCETHTOOL: \(errno)") }
  }
}
