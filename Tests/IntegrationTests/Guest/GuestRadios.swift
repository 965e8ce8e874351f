import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Three radios of the kernel's driver mac80211_hwsim, which hear each other: a station and two access points. The
/// access points are on one bridge, so they lead to the same network.
final class GuestRadios {
  /// The namespace of wlan0, in which netwatch runs.
  let station: NetworkNamespace
  /// The namespace of the access points wlan1 and wlan2, and of the bridge with 10.77.0.1.
  let air: NetworkNamespace
  let folder: TemporaryFolder
  private var accessPoints: [Int: ChildProcess] = [:]
  private var supplicant: ChildProcess?

  init() throws {
    // Radios survive their namespace and keep what the previous test has set. So the driver is loaded again.
    try Self.unload()
    try Guest.run("modprobe mac80211_hwsim radios=3")
    folder = try TemporaryFolder()
    station = try NetworkNamespace(withSysfs: true)
    air = try NetworkNamespace(withSysfs: true)
    try bringBack()
    try air.run("ip link add br0 type bridge", "ip link set br0 up", "ip addr add 10.77.0.1/24 dev br0")
  }

  static func unload() throws { try Guest.run("modprobe -r mac80211_hwsim") }

  /// Moves the radios into the two namespaces. The kernel puts new radios into its first namespace.
  func bringBack() throws {
    try Guest.run(
      "move() { iw phy $(cat /sys/class/net/$1/phy80211/name) set netns $2; }; "
        + "move wlan0 \(station.pid) && move wlan1 \(air.pid) && move wlan2 \(air.pid)")
  }

  // MARK: Access points

  private static func channel(of radio: Int) -> Int { radio == 1 ? 1 : 6 }

  static func address(of radio: Int) -> String { "02:00:00:00:0\(radio):00" }

  /// Starts an access point and waits until it works.
  ///
  /// - Parameter radio: The number of the radio, 1 or 2. Default: 1.
  func start(_ network: GuestNetwork, radio: Int = 1) throws {
    let text = network.accessPoint(
      interface: "wlan\(radio)", channel: Self.channel(of: radio), bridge: "br0", control: folder.file("ap"))
    let process = try ChildProcess(air.command(["hostapd", try write(text, to: "ap\(radio).conf")]))
    try process.wait(for: "AP-ENABLED")
    accessPoints[radio] = process
  }

  /// Ends an access point, which then tells its stations that it leaves.
  func stop(radio: Int = 1) throws {
    guard let process = accessPoints.removeValue(forKey: radio) else { return }
    process.signal(SIGTERM)
    _ = try process.wait()
  }

  /// Sets how strongly every radio is heard from now on, in dBm. The lowest value is -80.
  func setPower(_ power: Int) throws {
    // The driver adds the 20 dBm with which radios send. Its file accepts only an unsigned number, which the driver
    // reads as a signed one.
    let number = UInt64(bitPattern: Int64(power - 20))
    try Guest.run(
      "mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug; "
        + "for file in /sys/kernel/debug/ieee80211/*/hwsim/rx_rssi; do echo \(number) > $file; done")
  }

  /// Makes access point 1 send the station away. The station may come back at once.
  func sendAway() throws {
    try air.run("hostapd_cli -p \(folder.file("ap")) -i wlan1 deauthenticate \(Self.address(of: 0))")
  }

  /// Gives access point 1 a command about the station.
  func tellAccessPoint(_ command: String) throws {
    try air.run("hostapd_cli -p \(folder.file("ap")) -i wlan1 \(command) | grep -q OK")
  }

  // MARK: The station

  /// Gives the station's wpa_supplicant a command.
  func tellStation(_ command: String) throws {
    try station.run("wpa_cli -p \(folder.file("station")) -i wlan0 \(command) | grep -q OK")
  }

  func join(_ network: GuestNetwork) throws {
    try tryToJoin(network)
    try waitForConnection()
  }

  /// Makes the station try to join a network, again and again.
  func tryToJoin(_ network: GuestNetwork) throws {
    leave()
    let text = network.station(control: folder.file("station"))
    supplicant = try ChildProcess(
      station.command(["wpa_supplicant", "-D", "nl80211", "-i", "wlan0", "-c", try write(text, to: "station.conf")]))
  }

  func waitForConnection() throws { try supplicant?.wait(for: "CTRL-EVENT-CONNECTED") }

  /// Sets an address and the default route of a link of the station, as DHCP would.
  func configure(_ interface: String = "wlan0") throws {
    try station.run("ip addr add 10.77.0.2/24 dev \(interface)", "ip route add default via 10.77.0.1 dev \(interface)")
  }

  /// Returns radios of which the station is connected to access point 1 and has an address and the default route.
  static func online(_ network: GuestNetwork = .home) throws -> GuestRadios {
    let radios = try GuestRadios()
    try radios.start(network)
    try radios.join(network)
    try radios.configure()
    return radios
  }

  /// Ends wpa_supplicant. The interface stays up, and its routes stay.
  func leave() { supplicant = nil }

  /// Makes the station move to another access point of its network, and waits until it is connected.
  ///
  /// - Parameter address: The hardware address of that access point.
  func roam(to address: String) throws {
    let control = "wpa_cli -p \(folder.file("station")) -i wlan0"
    try station.run(
      // wpa_supplicant moves only to an access point that a scan has found.
      "\(control) scan freq=2412,2437", "until \(control) roam \(address) | grep -q OK; do sleep 0.1; done")
    try waitForConnection()
  }

  private func write(_ text: String, to name: String) throws -> String {
    try text.write(toFile: folder.file(name), atomically: false, encoding: .utf8)
    return folder.file(name)
  }
}
