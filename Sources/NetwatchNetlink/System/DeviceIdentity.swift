import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The data of a network device in sysfs.
///
/// Under `unshare -n`, sysfs still shows the devices of the namespace in which it was mounted. So an entry counts only if its
/// index and hardware address are those of the link.
struct DeviceIdentity {
  /// The folder where sysfs is mounted.
  var root = "/sys"
  /// The closure that returns the driver of a link if sysfs has no entry for the link.
  var driver: (_ link: String) -> String? = driver(ofLink:)

  func traits(name: String, index: Int32, hardwareAddress: UInt64?) -> DeviceTraits {
    let entry = "\(root)/class/net/\(name)"
    guard FileDescriptor.text(of: "\(entry)/ifindex") == "\(index)",
      let address = FileDescriptor.text(of: "\(entry)/address"), Self.number(address) == hardwareAddress ?? 0
    else { return DeviceTraits(isTether: Self.isTether(driver(name), USBDevice())) }
    var traits = DeviceTraits(
      type: Self.deviceType(FileDescriptor.text(of: "\(entry)/uevent")),
      isWireless: unsafe access("\(entry)/phy80211", F_OK) == 0)
    if traits.isWireless { traits.radioBlock = Self.radioBlock(of: "\(entry)/phy80211") }
    // The device of the link is an interface; its parent is the USB device.
    traits.isTether =
      traits.type != "wwan"
      && Self.isTether(
        USBDevice.driver(ofInterface: "\(entry)/device") ?? driver(name), USBDevice(at: "\(entry)/device/.."))
    return traits
  }

  /// Returns whether a device shares a phone's connection. Phones use RNDIS or Apple's protocol, which no other devices use. Or
  /// they use Ethernet over USB, as cable adapters do, but then the device also has other interfaces.
  static func isTether(_ driver: String?, _ device: @autoclosure () -> USBDevice) -> Bool {
    switch driver {
    case "rndis_host", "ipheth": true
    case "cdc_ether", "cdc_ncm": device().isPhoneOrModem
    default: false
    }
  }

  /// Returns what forbids a radio to send. The kernel sets this before it switches the links of the radio off.
  private static func radioBlock(of radio: String) -> RadioBlock? {
    for name in FileDescriptor.names(inFolder: radio) where name.hasPrefix("rfkill") {
      for block in [RadioBlock.hard, .soft]
      where FileDescriptor.text(of: "\(radio)/\(name)/\(block.rawValue)") == "1" { return block }
    }
    return nil
  }

  static func deviceType(_ uevent: String?) -> String? {
    let key = "DEVTYPE="
    let line = uevent?.split(separator: "\n").first { $0.hasPrefix(key) }
    return line.map { String($0.dropFirst(key.count)) }
  }

  /// Returns the first eight bytes of an address such as `00:1b:…`, in the decoder's form.
  private static func number(_ address: String) -> UInt64 {
    address.split(separator: ":").prefix(8).reduce(0) { $0 << 8 | (UInt64($1, radix: 16) ?? 0) }
  }
}
