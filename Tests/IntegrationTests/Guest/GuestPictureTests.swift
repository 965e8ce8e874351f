import Glibc
import NetwatchTestSupport
import Testing

extension GuestTests {
  /// The output of netwatch for the README's picture, on a machine with a WiFi network and a cable.
  /// contrib/guest/picture draws it.
  @Suite(.enabled(if: unsafe getenv("NETWATCH_PICTURE") != nil, "contrib/guest/picture runs this")) struct Picture {
    private static let terminal = ["LC_ALL=C.UTF-8", "COLUMNS=92"]

    private func show(_ line: String) { print("PICTURE|\(line)") }

    @Test func `a cable is pulled, and the WiFi network takes over`() throws {
      let radios = try GuestRadios()
      let network = GuestNetwork(name: Array("Café".utf8))
      try radios.start(network)
      try radios.join(network)
      try radios.setPower(-58)
      try USB.addCable(to: radios.station)
      try radios.station.run(
        "ip addr add 10.66.0.2/24 dev eth0", "ip route add default via 10.66.0.1 dev eth0",
        "ip addr add 10.77.0.2/24 dev wlan0",
        "ip route add default via 10.77.0.1 dev wlan0 metric 600")
      let command = [Programs.netwatch, "--format", "text", "--color", "always"]
      show("\u{1b}[2m$\u{1b}[0m \u{1b}[1mnetwatch --follow --traffic\u{1b}[0m")
      let follow = try ChildProcess(
        radios.station.command(command + ["--follow", "--traffic"]), environment: Self.terminal)
      /// Shows the lines up to one that contains the text, with at most `rates` lines of traffic.
      func see(_ text: String, rates: Int = 1) throws {
        var left = rates
        while let line = try follow.nextLine() {
          let isTraffic = line.contains("↓")
          if isTraffic { left -= 1 }
          if !isTraffic || left >= 0 { show(line) }
          if line.contains(text), !isTraffic || left == 0 { return }
        }
      }
      try see("wired", rates: 0)
      let sender = try ChildProcess(
        radios.air.command([
          "bash", "-c",
          "while :; do head -c $((RANDOM / 8)) /dev/zero >/dev/udp/10.77.0.2/9; sleep 0.05; done 2>/dev/null",
        ]))
      defer { sender.signal(SIGKILL) }
      try Guest.run("ip link set cable down")
      try see("not reachable", rates: 0)
      // NetworkManager or systemd-networkd would do this.
      try radios.station.run("ip route del default dev eth0")
      try see("Café", rates: 0)
      try see("↓", rates: 3)
      try radios.stop()
      try see("not reachable", rates: 0)

      show("")
      show("\u{1b}[2m$\u{1b}[0m \u{1b}[1mnetwatch -v\u{1b}[0m")
      let status = try ChildProcess.run(radios.station.command(command + ["-v"]), environment: Self.terminal)
      for line in status.output { show(line) }
      #expect(status.output.joined().contains("the cable or its other end is missing"))
    }
  }
}
