import Glibc
import NetwatchEventLoop

/// What a USB device offers, as the folders of its interfaces in sysfs say.
struct USBDevice {
  struct Interface: Hashable {
    let deviceClass: UInt8
    let subclass: UInt8
    let `protocol`: UInt8
    /// What the device itself calls it; most say nothing.
    let name: String?
    /// Nil while it has none.
    let driver: String?
  }

  var interfaces: [Interface] = []

  init() {}

  /// - Parameter folder: the device's own. Where there is none, or it is no USB device's, there are no interfaces.
  init(at folder: String) {
    guard let list = unsafe opendir(folder) else { return }
    defer { unsafe closedir(list) }
    while let entry = unsafe readdir(list) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
        unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      // `1-4:1.0`: port, configuration, interface.
      guard name.contains(":"), let interface = Interface(at: "\(folder)/\(name)") else { continue }
      interfaces.append(interface)
    }
  }

  /// Something of it is what phones and modems have, and network adapters have not.
  var isPhoneOrModem: Bool { interfaces.contains { $0.isOfPhone || $0.isOfModem } }

  /// The last component of what the link `driver` leads to.
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

  /// ADB, or the pictures and files of a phone. MTP has the numbers of PTP, which came first, or none but a name.
  var isOfPhone: Bool {
    if deviceClass == Self.vendor, name == "MTP" { return true }
    return switch (deviceClass, subclass, `protocol`) {
    case (Self.vendor, 0x42, 0x01), (Self.stillImage, 0x01, 0x01): true
    default: false
    }
  }

  /// Serial lines with the commands of a modem, and control channels of one.
  var isOfModem: Bool {
    switch (deviceClass, subclass) {
    // Abstract control model, wireless handset, device management, MBIM.
    case (Self.communication, 0x02), (Self.communication, 0x08), (Self.communication, 0x09),
      (Self.communication, 0x0e):
      true
    default: ["option", "qcserial", "sierra", "qmi_wwan", "cdc_wdm"].contains(driver)
    }
  }
}
