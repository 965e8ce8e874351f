import NetwatchEventLoop
import NetwatchLibC

/// The interfaces of a USB device, from their folders in sysfs.
struct USBDevice {
  struct Interface: Hashable {
    let deviceClass: UInt8
    let subclass: UInt8
    let `protocol`: UInt8
    /// The name that the device gives the interface; most devices give none.
    let name: String?
    /// The driver of the interface; nil while it has none.
    let driver: String?
  }

  var interfaces: [Interface] = []

  init() {}

  /// Reads the interfaces of a device.
  ///
  /// - Parameter folder: The folder of the device. If it does not exist or is not one of a USB device, there are no interfaces.
  init(at folder: String) {
    for name in FileDescriptor.names(inFolder: folder) {
      // A name such as `1-4:1.0`: port, configuration, interface.
      guard name.contains(":"), let interface = Interface(at: "\(folder)/\(name)") else { continue }
      interfaces.append(interface)
    }
  }

  /// Whether the device has an interface of phones or modems, which network adapters do not have.
  var isPhoneOrModem: Bool { interfaces.contains { $0.isOfPhone || $0.isOfModem } }

  /// Returns the driver of an interface: the last component of the target of the link `driver`.
  static func driver(ofInterface folder: String) -> String? {
    FileDescriptor.target(ofLink: "\(folder)/driver")?.split(separator: "/").last.map { String($0) }
  }
}

extension USBDevice.Interface {
  fileprivate init?(at folder: String) {
    func number(_ name: String) -> UInt8? {
      FileDescriptor.text(of: "\(folder)/\(name)").flatMap { UInt8($0, radix: 16) }
    }
    guard let deviceClass = number("bInterfaceClass"), let subclass = number("bInterfaceSubClass"),
      let `protocol` = number("bInterfaceProtocol")
    else { return nil }
    self.deviceClass = deviceClass
    self.subclass = subclass
    self.protocol = `protocol`
    name = FileDescriptor.text(of: "\(folder)/interface")
    driver = USBDevice.driver(ofInterface: folder)
  }

  // Classes of <linux/usb/ch9.h>.
  private static var communication: UInt8 { 0x02 }
  private static var stillImage: UInt8 { 0x06 }
  private static var vendor: UInt8 { 0xff }

  /// Whether this is ADB, or the picture and file transfer of a phone. MTP has the numbers of PTP, its predecessor, or only a
  /// name.
  fileprivate var isOfPhone: Bool {
    if deviceClass == Self.vendor, name == "MTP" { return true }
    return switch (deviceClass, subclass, `protocol`) {
    case (Self.vendor, 0x42, 0x01), (Self.stillImage, 0x01, 0x01): true
    default: false
    }
  }

  /// Whether this is a serial line with modem commands, or the control channel of a modem.
  fileprivate var isOfModem: Bool {
    switch (deviceClass, subclass) {
    // Abstract control model, wireless handset, device management, MBIM.
    case (Self.communication, 0x02), (Self.communication, 0x08), (Self.communication, 0x09),
      (Self.communication, 0x0e):
      true
    default: ["option", "qcserial", "sierra", "qmi_wwan", "cdc_wdm"].contains(driver)
    }
  }
}
