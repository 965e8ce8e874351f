import CLinux
import Glibc
import Netwatch

/// What sysfs says of a network device.
///
/// Under `unshare -n` sysfs still shows the devices of the namespace in which it was mounted, so an entry counts only if
/// its index and hardware address are those of the link.
enum DeviceIdentity {
  static func traits(name: String, index: Int32, hardwareAddress: UInt64?) -> DeviceTraits {
    var traits = sysfsTraits(name: name, index: index, hardwareAddress: hardwareAddress)
    traits.isTether = traits.type != "wwan" && isTether(DeviceDriver.name(ofLink: name))
    return traits
  }

  private static func sysfsTraits(name: String, index: Int32, hardwareAddress: UInt64?) -> DeviceTraits {
    let directory = "/sys/class/net/\(name)"
    guard read("\(directory)/ifindex") == "\(index)",
      let address = read("\(directory)/address"), number(address) == hardwareAddress ?? 0
    else { return DeviceTraits() }
    return DeviceTraits(
      type: deviceType(read("\(directory)/uevent")), isWireless: unsafe access("\(directory)/phy80211", F_OK) == 0)
  }

  /// Phones that share their connection speak RNDIS, Apple's own protocol, or Ethernet over USB as modems do.
  static func isTether(_ driver: String?) -> Bool {
    switch driver {
    case "rndis_host", "ipheth", "cdc_ether", "cdc_ncm": true
    default: false
    }
  }

  static func deviceType(_ uevent: String?) -> String? {
    let key = "DEVTYPE="
    let line = uevent?.split(separator: "\n").first { $0.hasPrefix(key) }
    return line.map { String($0.dropFirst(key.count)) }
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
