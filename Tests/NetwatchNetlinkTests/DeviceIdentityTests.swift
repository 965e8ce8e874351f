import Netwatch
import Testing

@testable import NetwatchNetlink

@Suite struct DeviceIdentityTests {
  @Test(arguments: [
    ("DEVTYPE=wlan\nINTERFACE=wlan0\nIFINDEX=3", "wlan"), ("INTERFACE=enx0\nIFINDEX=3\nDEVTYPE=wwan", "wwan"),
    ("INTERFACE=eth0\nIFINDEX=2", nil), ("", nil), ("DEVTYPE=", ""), ("XDEVTYPE=wlan", nil),
    ("INTERFACE=DEVTYPE=wlan", nil), ("DEVTYPE=a=b", "a=b"), ("DEVTYPE=one\nDEVTYPE=two", "one"),
  ])
  func `the type of a device stands in its uevent`(_ uevent: String, _ type: String?) {
    #expect(DeviceIdentity.deviceType(uevent) == type)
  }

  @Test func `no uevent, no type`() {
    #expect(DeviceIdentity.deviceType(nil) == nil)
  }

  @Test(arguments: ["no-such-link", "..", "", "a/b", "../../net/lo"])
  func `a name that no link can have has no traits`(_ name: String) {
    #expect(DeviceIdentity().traits(name: name, index: 1 << 30, hardwareAddress: nil) == DeviceTraits())
  }

  @Test func `an entry of another link has no traits`() {
    #expect(DeviceIdentity().traits(name: "lo", index: 77, hardwareAddress: 0) == DeviceTraits())
    #expect(DeviceIdentity().traits(name: "lo", index: 1, hardwareAddress: 5) == DeviceTraits())
  }
}
