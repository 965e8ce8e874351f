import Netwatch
import Testing

@testable import NetwatchNetlink

@Suite struct KnownDevicesTests {
  private final class Sysfs {
    var reads = 0
  }

  /// Returns known devices whose sysfs has one WiFi card.
  private func make(_ sysfs: Sysfs) -> KnownDevices {
    KnownDevices { _, _, hardwareAddress in
      sysfs.reads += 1
      return hardwareAddress == 7 ? DeviceTraits(type: "wlan") : DeviceTraits()
    }
  }

  private func card(
    name: String = "wlan0", hardwareAddress: UInt64? = 7, isComplete: Bool = true, flags: UInt32 = 0
  ) -> LinkUpdate {
    var fact = LinkUpdate(index: 3, flags: flags, hardwareType: 1)
    fact.name = InterfaceName(name)
    fact.hardwareAddress = hardwareAddress
    fact.isComplete = isComplete
    return fact
  }

  @Test func `a card is looked up once, and anew under another name`() {
    let sysfs = Sysfs()
    var devices = make(sysfs)
    for (name, reads) in [("wlan0", 1), ("wlan0", 1), ("wifi9", 2)] {
      var fact = card(name: name)
      devices.identify(&fact)
      #expect(fact.device?.type == "wlan")
      #expect(sysfs.reads == reads)
    }
    devices.forget(3)
    var fact = card(name: "wifi9")
    devices.identify(&fact)
    #expect(sysfs.reads == 3)
  }

  @Test func `a card is looked up once more when it is first switched on`() {
    let sysfs = Sysfs()
    var devices = make(sysfs)
    for (flags, reads) in [(0, 1), (1, 2), (1, 2), (0, 2), (1, 2)] as [(UInt32, Int)] {
      var fact = card(flags: flags)
      devices.identify(&fact)
      #expect(fact.device?.type == "wlan")
      #expect(sysfs.reads == reads)
    }
  }

  @Test func `a radio without a carrier is looked up each time`() {
    var blocks: [RadioBlock?] = [nil, .soft, .soft, nil]
    var devices = KnownDevices { _, _, _ in DeviceTraits(isWireless: true, radioBlock: blocks.removeFirst()) }
    let running = Interface.upFlag | Interface.lowerUpFlag
    let steps: [(UInt32, RadioBlock?)] = [
      (running, nil), (running, nil), (Interface.upFlag, .soft), (0, .soft), (running, nil), (running, nil),
    ]
    for (flags, block) in steps {
      var fact = card(flags: flags)
      devices.identify(&fact)
      #expect(fact.device?.radioBlock == block)
    }
    #expect(blocks.isEmpty)
  }

  @Test func `a wireless event, with a name but no address, leaves what is known`() {
    let sysfs = Sysfs()
    var devices = make(sysfs)
    var first = card()
    devices.identify(&first)
    var partial = card(hardwareAddress: nil, isComplete: false)
    devices.identify(&partial)
    #expect(partial.device == nil)
    #expect(sysfs.reads == 1)
  }

  @Test func `software links are not looked up`() {
    let sysfs = Sysfs()
    var devices = make(sysfs)
    var fact = card()
    fact.kind = "veth"
    devices.identify(&fact)
    #expect(fact.device == nil)
    #expect(sysfs.reads == 0)
  }
}
