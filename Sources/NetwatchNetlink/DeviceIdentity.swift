import CLinux
import Glibc
import Netwatch

/// What sysfs says of a network device.
///
/// Under `unshare -n` sysfs still shows the devices of the namespace in which it was mounted, so an entry counts only if
/// its index and hardware address are those of the link.
enum DeviceIdentity {
  static func traits(name: String, index: Int32, hardwareAddress: UInt64?) -> DeviceTraits {
    let directory = "/sys/class/net/\(name)"
    guard read("\(directory)/ifindex") == "\(index)",
      let address = read("\(directory)/address"), number(address) == hardwareAddress ?? 0
    else { return DeviceTraits() }
    return DeviceTraits(
      type: deviceType(read("\(directory)/uevent")), isWireless: unsafe access("\(directory)/phy80211", F_OK) == 0,
      isTether: isTether(driver("\(directory)/device/driver")))
  }

  /// Phones that share their connection speak RNDIS, or Apple's own protocol; network cards on USB speak neither.
  static func isTether(_ driver: String?) -> Bool {
    driver == "rndis_host" || driver == "ipheth"
  }

  static func deviceType(_ uevent: String?) -> String? {
    let key = "DEVTYPE="
    let line = uevent?.split(separator: "\n").first { $0.hasPrefix(key) }
    return line.map { String($0.dropFirst(key.count)) }
  }

  private static func driver(_ link: String) -> String? {
    var target = [CChar](repeating: 0, count: 4096)
    let count = unsafe readlink(link, &target, target.count)
    guard count > 0 else { return nil }
    let path = String(decoding: target[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    return path.split(separator: "/").last.map(String.init)
  }

  private static func read(_ path: String) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { return nil }
    let text = String(decoding: bytes[..<count], as: UTF8.self)
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }

  /// The first eight bytes of an address written as `00:1b:…`, as the decoder has them.
  private static func number(_ address: String) -> UInt64 {
    address.split(separator: ":").prefix(8).reduce(0) { $0 << 8 | (UInt64($1, radix: 16) ?? 0) }
  }
}
