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
