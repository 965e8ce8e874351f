import Foundation
import NetwatchTestSupport
import Testing

extension GuestTests {
  /// Tests of QEMU's USB network adapter. It has two USB configurations, and the kernel has a driver for each.
  @Suite struct USB {
    /// Moves the adapter into a namespace, as `usb0`, with an address and the default route.
    ///
    /// - Parameter configuration: The number of the USB configuration that the kernel is to use: 1 for the driver
    ///   cdc_ether, 2 for rndis_host.
    static func addAdapter(_ configuration: Int, to namespace: NetworkNamespace) throws {
      try Guest.run("modprobe -a uhci_hcd rndis_host cdc_ether")
      let adapter = try waitForFile(in: "/sys/bus/usb/devices") { $0.hasSuffix("-1") }
      // 0 ends the configuration that was used before.
      let file = "\(adapter)/bConfigurationValue"
      try Guest.run("echo 0 >\(file); echo \(configuration) >\(file)")
      let link = try waitForFile(in: "/sys/class/net") { $0.hasPrefix("usb") || $0.hasPrefix("eth") }
      let name = String(link.split(separator: "/").last ?? "")
      try Guest.run("ip link set \(name) netns \(namespace.pid) name usb0")
      try namespace.run(
        "ip addr add 10.66.0.2/24 dev usb0", "ip link set usb0 up", "ip route add default via 10.66.0.1")
    }

    /// Moves an adapter into a namespace, as `eth0` without an address. Its cable leads to the adapter `cable` of the guest itself, by a
    /// USB port that leads back to the same machine (`dummy_hcd`). `eth0` has carrier while `cable` is up.
    static func addCable(to namespace: NetworkNamespace) throws {
      try Guest.run("modprobe -a dummy_hcd cdc_ether g_ether")
      /// Waits for the link of the device, and returns the link's name.
      func link(of device: String) throws -> String {
        let folder = "/sys/class/net"
        let file = try waitForFile(in: folder) { name in
          (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)"))?.contains(device) == true
        }
        return String(file.split(separator: "/").last ?? "")
      }
      try Guest.run("ip link set \(link(of: "/dummy_udc")) name cable && ip link set cable up")
      try Guest.run("ip link set \(link(of: "/dummy_hcd")) netns \(namespace.pid) name eth0")
      try namespace.run("ip link set eth0 up")
      try namespace.waitUntilRunning("eth0")
    }

    private static func waitForFile(in folder: String, where matches: (String) -> Bool) throws -> String {
      var name: String?
      func names() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        name = names.first(where: matches)
        return names
      }
      try eventually(names()) { _ in name != nil }
      return "\(folder)/\(name ?? "")"
    }

    @Test(.enabled(if: Guest.hasModule("dummy_hcd"), "the kernel has no USB port that leads back"))
    func `a cable is pulled, and plugged in again`() throws {
      let namespace = try NetworkNamespace(withSysfs: true)
      try Self.addCable(to: namespace)
      try namespace.run("ip addr add 10.66.0.2/24 dev eth0", "ip route add default via 10.66.0.1")
      let follow = try namespace.follow()
      let line = try follow.next()
      #expect(line.summary == "wifi initial eth0")
      #expect(line.medium == "wired")
      try Guest.run("ip link set cable down")
      let lost = try follow.next()
      #expect(lost.summary == "not-reachable no_carrier -")
      #expect(
        lost.object["sentence"] as? String
          == "Offline: eth0 has no carrier; the cable or its other end is missing.")
      try Guest.run("ip link set cable up")
      #expect(try follow.summary() == "wifi route_up eth0")
      try Guest.run("modprobe -r g_ether dummy_hcd")
    }

    @Test(arguments: [("rndis_host", 2, true), ("cdc_ether", 1, false)])
    func `a tether is expensive, and a plain adapter is not`(
      _ driver: String, _ configuration: Int, _ isExpensive: Bool
    ) throws {
      let namespace = try NetworkNamespace(withSysfs: true)
      try Self.addAdapter(configuration, to: namespace)
      let found = try ChildProcess.run(
        namespace.command(["sh", "-c", "basename $(readlink /sys/class/net/usb0/device/driver)"]))
      #expect(found.output == [driver])
      let line = try namespace.follow().next()
      #expect(line.summary == "wifi initial usb0")
      #expect(line.medium == "wired")
      #expect(line.isExpensive == isExpensive)
      #expect(line.cost == (isExpensive ? "usb" : "free"))
    }
  }
}
