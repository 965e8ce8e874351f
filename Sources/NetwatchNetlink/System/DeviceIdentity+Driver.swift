import CLibNetlink
import NetwatchLibC

extension DeviceIdentity {
  /// struct ifreq: the name in sixteen bytes, then a union whose pointer is used here; 40 bytes in all.
  private static let requestSize = 40
  private static let nameSize = 16
  /// SIOCETHTOOL, a cast in the headers.
  private static let ethtool: UInt = 0x8946

  /// Returns the driver of a link, as `ethtool -i` shows it. Unlike sysfs, this works in every network namespace.
  ///
  /// - Returns: Nil for a link without a driver, or if the kernel does not report it.
  static func driver(ofLink link: String) -> String? {
    guard link.utf8.count < nameSize else { return nil }
    // Any socket will do; one of this family is permitted wherever netwatch runs.
    let descriptor = socket(AF_NETLINK, CInt(SOCK_RAW.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var info = ethtool_drvinfo()
    info.cmd = UInt32(ETHTOOL_GDRVINFO)
    let result: CInt = unsafe withUnsafeMutablePointer(to: &info) { info in
      unsafe withUnsafeTemporaryAllocation(byteCount: requestSize, alignment: 8) { request in
        unsafe request.initializeMemory(as: UInt8.self, repeating: 0)
        for (position, byte) in link.utf8.enumerated() { unsafe request[position] = byte }
        unsafe request.storeBytes(
          of: UnsafeMutableRawPointer(info), toByteOffset: nameSize, as: UnsafeMutableRawPointer.self)
        guard let base = request.baseAddress else { return CInt(-1) }
        return unsafe ioctl(descriptor, ethtool, base)
      }
    }
    guard result == 0 else { return nil }
    return unsafe withUnsafeBytes(of: info.driver) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
