import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Three radios of the kernel's that hear each other: a station, and two access points in front of one network.
final class GuestRadios {
  /// Here are wlan0 and netwatch.
  let station: NetworkNamespace
  /// Here are wlan1 and wlan2, and 10.77.0.1 behind them.
  let air: NetworkNamespace
  let folder: TemporaryFolder
  private var accessPoints: [Int: ChildProcess] = [:]
  private var supplicant: ChildProcess?

  init() throws {
    // WirelessMonitor survive a namespace, and would bring what the test before has made of them.
    try Self.unload()
    try Guest.run("modprobe mac80211_hwsim radios=3")
    folder = try TemporaryFolder()
    station = try NetworkNamespace(withSysfs: true)
    air = try NetworkNamespace(withSysfs: true)
    try bringBack()
    try air.run("ip link add br0 type bridge", "ip link set br0 up", "ip addr add 10.77.0.1/24 dev br0")
  }

  static func unload() throws { try Guest.run("modprobe -r mac80211_hwsim") }

  /// New radios come to the kernel's first namespace.
  func bringBack() throws {
    try Guest.run(
      "move() { iw phy $(cat /sys/class/net/$1/phy80211/name) set netns $2; }; "
        + "move wlan0 \(station.pid) && move wlan1 \(air.pid) && move wlan2 \(air.pid)")
  }

  // MARK: Access points

  private static func channel(of radio: Int) -> Int { radio == 1 ? 1 : 6 }

  static func address(of radio: Int) -> String { "02:00:00:00:0\(radio):00" }

  /// - Parameter radio: 1 or 2.
  func start(_ network: GuestNetwork, radio: Int = 1) throws {
    let text = network.accessPoint(
      interface: "wlan\(radio)", channel: Self.channel(of: radio), bridge: "br0", control: folder.file("ap"))
    let process = try ChildProcess(air.command(["hostapd", try write(text, to: "ap\(radio).conf")]))
    try process.wait(for: "AP-ENABLED")
    accessPoints[radio] = process
  }

  /// It says goodbye to its stations.
  func stop(radio: Int = 1) throws {
    guard let process = accessPoints.removeValue(forKey: radio) else { return }
    process.signal(SIGTERM)
    _ = try process.wait()
  }

  /// How strongly every radio is heard from now on, in dBm; at least -80.
  func setPower(_ power: Int) throws {
    // The driver adds the 20 dBm that radios send with. Its file takes a number without a sign, and is read as one with a sign.
    let number = UInt64(bitPattern: Int64(power - 20))
    try Guest.run(
      "mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug; "
        + "for file in /sys/kernel/debug/ieee80211/*/hwsim/rx_rssi; do echo \(number) > $file; done")
  }

  /// It sends its station away, which may come again at once.
  func sendAway() throws {
    try air.run("hostapd_cli -p \(folder.file("ap")) -i wlan1 deauthenticate \(Self.address(of: 0))")
  }

  // MARK: The station

  func join(_ network: GuestNetwork) throws {
    leave()
    let text = network.station(control: folder.file("station"))
    supplicant = try ChildProcess(
      station.command(["wpa_supplicant", "-D", "nl80211", "-i", "wlan0", "-c", try write(text, to: "station.conf")]))
    try waitForConnection()
  }

  func waitForConnection() throws { try supplicant?.wait(for: "CTRL-EVENT-CONNECTED") }

  /// As DHCP would.
  func configure(_ interface: String = "wlan0") throws {
    try station.run("ip addr add 10.77.0.2/24 dev \(interface)", "ip route add default via 10.77.0.1 dev \(interface)")
  }

  /// Station and access point, up to the default route.
  static func online(_ network: GuestNetwork = .home) throws -> GuestRadios {
    let radios = try GuestRadios()
    try radios.start(network)
    try radios.join(network)
    try radios.configure()
    return radios
  }

  /// The interface stays up, and its routes stay.
  func leave() { supplicant = nil }

  /// - Parameter address: of another access point of the same network.
  func roam(to address: String) throws {
    let control = "wpa_cli -p \(folder.file("station")) -i wlan0"
    try station.run(
      // It cannot go where it has not seen anybody.
      "\(control) scan freq=2412,2437", "until \(control) roam \(address) | grep -q OK; do sleep 0.1; done")
    try waitForConnection()
  }

  private func write(_ text: String, to name: String) throws -> String {
    try text.write(toFile: folder.file(name), atomically: false, encoding: .utf8)
    return folder.file(name)
  }
}
