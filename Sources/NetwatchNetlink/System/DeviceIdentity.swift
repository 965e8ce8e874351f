import CLinux
import Glibc
import Netwatch
import NetwatchEventLoop

/// What sysfs says of a network device.
///
/// Under `unshare -n` sysfs still shows the devices of the namespace in which it was mounted, so an entry counts only if
/// its index and hardware address are those of the link.
struct DeviceIdentity {
  /// Where sysfs is mounted.
  var root = "/sys"
  /// The driver of a link, where sysfs has no entry for it.
  var driver: (_ link: String) -> String? = driver(ofLink:)

  func traits(name: String, index: Int32, hardwareAddress: UInt64?) -> DeviceTraits {
    let entry = "\(root)/class/net/\(name)"
    guard FileDescriptor.text(of: "\(entry)/ifindex") == "\(index)",
      let address = FileDescriptor.text(of: "\(entry)/address"), Self.number(address) == hardwareAddress ?? 0
    else { return DeviceTraits(isTether: Self.isTether(driver(name), USBDevice())) }
    var traits = DeviceTraits(
      type: Self.deviceType(FileDescriptor.text(of: "\(entry)/uevent")),
      isWireless: unsafe access("\(entry)/phy80211", F_OK) == 0)
    // The link's device is an interface of the USB device above it.
    traits.isTether =
      traits.type != "wwan"
      && Self.isTether(
        USBDevice.driver(ofInterface: "\(entry)/device") ?? driver(name), USBDevice(at: "\(entry)/device/.."))
    return traits
  }

  /// Phones that share their connection speak RNDIS or Apple's own protocol, which nothing else does; or Ethernet over USB,
  /// as adapters with a cable do, which then is not all that the device offers.
  static func isTether(_ driver: String?, _ device: @autoclosure () -> USBDevice) -> Bool {
    switch driver {
    case "rndis_host", "ipheth": true
    case "cdc_ether", "cdc_ncm": device().isPhoneOrModem
    default: false
    }
  }

  static func deviceType(_ uevent: String?) -> String? {
    let key = "DEVTYPE="
    let line = uevent?.split(separator: "\n").first { $0.hasPrefix(key) }
    return line.map { String($0.dropFirst(key.count)) }
  }

  /// The first eight bytes of an address written as `00:1b:…`, as the decoder has them.
  private static func number(_ address: String) -> UInt64 {
    address.split(separator: ":").prefix(8).reduce(0) { $0 << 8 | (UInt64($1, radix: 16) ?? 0) }
  }
}
