import CLinux
import Glibc

/// Creates a tun device and holds it open until the end of stdin. If the name begins with `tap`, the device is a tap
/// device.
enum Tunnel {
  static func hold(_ name: String) throws {
    let descriptor = unsafe open("/dev/net/tun", O_RDWR)
    guard descriptor >= 0 else { throw ProbeFailure("open /dev/net/tun: \(errno)") }
    // In struct ifreq, sixteen bytes of name come first, and then the flags: IFF_TUN or IFF_TAP, and IFF_NO_PI.
    var request = [UInt8](repeating: 0, count: 40)
    for (position, byte) in name.utf8.prefix(15).enumerated() { request[position] = byte }
    let flags: UInt16 = name.hasPrefix("tap") ? 0x1002 : 0x1001
    request[16] = UInt8(flags & 0xff)
    request[17] = UInt8(flags >> 8)
    let setInterface: UInt = 0x4004_54ca  // TUNSETIFF
    guard unsafe ioctl(descriptor, setInterface, &request) == 0 else { throw ProbeFailure("TUNSETIFF: \(errno)") }
    say("open")
    var byte: UInt8 = 0
    while unsafe read(STDIN_FILENO, &byte, 1) > 0 {}
  }
}
