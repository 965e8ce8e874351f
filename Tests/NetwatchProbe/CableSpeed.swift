import CLibNetlink
import CLinux
import Glibc

/// Sets the speed of a network card, as `ethtool -s NAME speed MBPS duplex full autoneg off` does.
enum CableSpeed {
  static func set(_ name: String, _ megabits: UInt16) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    guard descriptor >= 0 else { throw ProbeFailure("socket: \(errno)") }
    var settings = ethtool_cmd()
    settings.cmd = UInt32(ETHTOOL_GSET)
    try ask(descriptor, name, &settings)
    settings.cmd = UInt32(ETHTOOL_SSET)
    (settings.speed, settings.speed_hi, settings.duplex, settings.autoneg) = (megabits, 0, 1, 0)
    try ask(descriptor, name, &settings)
    say("set")
  }

  private static func ask(_ descriptor: CInt, _ name: String, _ settings: inout ethtool_cmd) throws {
    let ethtool: UInt = 0x8946  // SIOCETHTOOL
    let result = unsafe withUnsafeMutablePointer(to: &settings) { pointer in
      // In struct ifreq, sixteen bytes of name come first, and then the address of the settings.
      var request = [UInt8](repeating: 0, count: 40)
      for (position, byte) in name.utf8.prefix(15).enumerated() { request[position] = byte }
      let address = UInt64(UInt(bitPattern: pointer))
      for position in 0..<8 { request[16 + position] = UInt8(truncatingIfNeeded: address >> (8 * UInt64(position))) }
      return unsafe ioctl(descriptor, ethtool, &request)
    }
    guard result == 0 else { throw ProbeFailure("SIOCETHTOOL: \(errno)") }
  }
}
