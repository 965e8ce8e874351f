import Foundation
import Netwatch
import Testing

@testable import NetwatchNetlink

/// Network adapters on USB, as sysfs describes them.
@Suite struct USBDeviceTests {
  struct Adapter: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// The class, subclass, protocol and driver of each interface, for example `02/0d/00 cdc_ncm`, which may be
    /// followed by what the interface is called. The first interface is that of the link.
    let interfaces: [String]
    var type: String? = nil
    let isTether: Bool

    init(_ name: String, _ interfaces: String..., type: String? = nil, isTether: Bool) {
      testDescription = name
      self.interfaces = interfaces
      self.type = type
      self.isTether = isTether
    }
  }

  @Test(arguments: [
    Adapter("Android by RNDIS", "e0/01/03 rndis_host", "0a/00/00 rndis_host", isTether: true),
    Adapter("iPhone", "ff/fd/01 ipheth", "06/01/01", "ff/fe/02 usbfs", isTether: true),
    Adapter(
      "Android by NCM, debugged", "02/0d/00 cdc_ncm", "0a/00/01 cdc_ncm", "ff/42/01 ADB Interface", isTether: true),
    Adapter("Android by NCM, with its files", "06/01/01", "02/0d/00 cdc_ncm", "0a/00/01 cdc_ncm", isTether: true),
    Adapter("iPhone by NCM", "02/0d/00 cdc_ncm", "0a/00/01 cdc_ncm", "06/01/01", "ff/fe/02 usbfs", isTether: true),
    Adapter("old Android by ECM", "02/06/00 cdc_ether", "0a/00/00 cdc_ether", "ff/ff/00 - MTP", isTether: true),
    Adapter(
      "LTE modem by ECM", "02/06/00 cdc_ether", "0a/00/00 cdc_ether", "ff/00/00 option", "ff/00/00 option",
      isTether: true),
    Adapter("modem with a serial line", "02/06/00 cdc_ether", "0a/00/00 cdc_ether", "02/02/01 cdc_acm", isTether: true),
    Adapter("modem with MBIM beside", "02/0d/00 cdc_ncm", "0a/00/01 cdc_ncm", "02/0e/00 cdc_mbim", isTether: true),
    Adapter("Realtek by ECM", "02/06/00 cdc_ether", "0a/00/00 cdc_ether", isTether: false),
    Adapter("Realtek by NCM", "02/0d/00 cdc_ncm", "0a/00/01 cdc_ncm", isTether: false),
    Adapter("Realtek by its own driver", "ff/ff/00 r8152", isTether: false),
    Adapter("dock with a keyboard", "02/0d/00 cdc_ncm", "0a/00/01 cdc_ncm", "03/01/01 usbhid", isTether: false),
    // The adapter is a modem because its type says so.
    Adapter(
      "HiLink", "02/06/00 cdc_ether", "0a/06/00 cdc_ether", "08/06/50 usb-storage", type: "wwan", isTether: false),
  ])
  func `a phone or a modem is known by all that it offers`(_ adapter: Adapter) throws {
    let sysfs = try Sysfs(adapter)
    let identity = DeviceIdentity(root: sysfs.root) { _ in nil }
    let traits = identity.traits(name: "usb0", index: 7, hardwareAddress: 0x0200_0000_0009)
    #expect(traits.isTether == adapter.isTether)
    #expect(traits.type == adapter.type)
  }

  @Test func `what another namespace's sysfs says of its own link is nothing`() throws {
    let sysfs = try Sysfs(Adapter("a phone", "02/0d/00 cdc_ncm", "ff/42/01", isTether: true))
    for (driver, isTether) in [("cdc_ncm", false), ("cdc_ether", false), ("rndis_host", true), ("ipheth", true)] {
      let identity = DeviceIdentity(root: sysfs.root) { _ in driver }
      for (index, address) in [(7, 5), (8, 0x0200_0000_0009), (7, nil)] as [(Int32, UInt64?)] {
        #expect(identity.traits(name: "usb0", index: index, hardwareAddress: address).isTether == isTether)
      }
      #expect(identity.traits(name: "usb1", index: 7, hardwareAddress: 0x0200_0000_0009).isTether == isTether)
    }
  }

  @Test func `a card that is not on USB has no such interfaces`() throws {
    let sysfs = try Sysfs(Adapter("a card", isTether: false))
    try sysfs.write("x", to: "devices/1-4/0000:00:1f.6/class")
    let identity = DeviceIdentity(root: sysfs.root) { _ in "e1000e" }
    #expect(identity.traits(name: "usb0", index: 7, hardwareAddress: 0x0200_0000_0009) == DeviceTraits())
    #expect(USBDevice(at: "\(sysfs.root)/nowhere").interfaces.isEmpty)
  }

  @Test func `what forbids a radio to send is known, and stays no longer than it lasts`() throws {
    let sysfs = try Sysfs(Adapter("a WiFi stick", "ff/ff/ff rt2800usb", type: "wlan", isTether: false))
    let radio = "devices/1-4/1-4:1.0/net/usb0/phy80211"
    let identity = DeviceIdentity(root: sysfs.root) { _ in nil }
    func block() -> RadioBlock? {
      identity.traits(name: "usb0", index: 7, hardwareAddress: 0x0200_0000_0009).radioBlock
    }
    try sysfs.write("phy0", to: "\(radio)/name")
    #expect(block() == nil)
    for (soft, hard, expected) in [
      ("0", "0", nil), ("1", "0", .soft), ("1", "1", .hard), ("0", "1", .hard), ("0", "0", nil),
    ]
      as [(String, String, RadioBlock?)]
    {
      try sysfs.write(soft, to: "\(radio)/rfkill3/soft")
      try sysfs.write(hard, to: "\(radio)/rfkill3/hard")
      #expect(block() == expected)
    }
  }

  /// A folder in the form of /sys with one link: usb0 with the number 7, on the first interface of device 1-4 that has
  /// a driver for networks.
  private final class Sysfs {
    let root = "/tmp/netwatch-sysfs-\(UUID())"

    init(_ adapter: Adapter) throws {
      let link = adapter.interfaces.firstIndex { $0.hasSuffix("cdc_ncm") } ?? 0
      for (number, text) in adapter.interfaces.enumerated() {
        let folder = "devices/1-4/1-4:1.\(number)"
        let words = text.split(separator: " ", maxSplits: 2).map(String.init)
        let numbers = words[0].split(separator: "/").map(String.init)
        try write(numbers[0], to: "\(folder)/bInterfaceClass")
        try write(numbers[1], to: "\(folder)/bInterfaceSubClass")
        try write(numbers[2], to: "\(folder)/bInterfaceProtocol")
        if words.count > 2 { try write(words[2], to: "\(folder)/interface") }
        guard words.count > 1, words[1] != "-" else { continue }
        try makeFolder("bus/usb/drivers/\(words[1])")
        try makeLink("\(folder)/driver", to: "../../../bus/usb/drivers/\(words[1])")
      }
      let entry = "devices/1-4/1-4:1.\(link)/net/usb0"
      try write("7", to: "\(entry)/ifindex")
      try write("02:00:00:00:00:09", to: "\(entry)/address")
      try write((adapter.type.map { "DEVTYPE=\($0)\n" } ?? "") + "INTERFACE=usb0\nIFINDEX=7", to: "\(entry)/uevent")
      try makeLink("\(entry)/device", to: "../../../1-4:1.\(link)")
      try makeFolder("class/net")
      try makeLink("class/net/usb0", to: "../../\(entry)")
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    func write(_ text: String, to path: String) throws {
      try makeFolder(path.split(separator: "/").dropLast().joined(separator: "/"))
      try (text + "\n").write(toFile: "\(root)/\(path)", atomically: false, encoding: .utf8)
    }

    private func makeFolder(_ path: String) throws {
      try FileManager.default.createDirectory(atPath: "\(root)/\(path)", withIntermediateDirectories: true)
    }

    private func makeLink(_ path: String, to target: String) throws {
      try FileManager.default.createSymbolicLink(atPath: "\(root)/\(path)", withDestinationPath: target)
    }
  }
}
