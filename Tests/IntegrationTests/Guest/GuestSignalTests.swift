import Glibc
import NetwatchTestSupport
import Testing

extension Line {
  var signal: Int? { wifi?["signal_dbm"] as? Int }
  var frequency: Int? { wifi?["frequency_mhz"] as? Int }
  var band: String? { wifi?["band"] as? String }
  var accessPoint: String? { wifi?["bssid"] as? String }
}

extension GuestTests {
  /// Tests of what is reported about the connection to an access point: how strong the signal is, over which channel it
  /// comes, and which access point it is. In Linux 5.10 the signal of the radios of mac80211_hwsim cannot be set.
  @Suite(.enabled(if: NetworkNamespace.isLinux(6, 1), "needs radios whose strength can be set")) struct Signals {
    @Test func `a line is written when the signal moves to another step`() throws {
      let radios = try GuestRadios()
      try radios.setPower(-50)
      try radios.start(.home)
      try radios.join(.home)
      try radios.configure()
      let steps = try radios.station.follow("--signal")
      let each = try radios.station.follow("--no-service", "--signal", "dbm")
      let quiet = try radios.station.follow()
      for one in [steps, each, quiet] { #expect(try one.next().signal == -50) }
      // These values are noise at the edge of a step. A step ends only 3 dB beyond its edge.
      for (number, power) in [-59, -62, -60, -58, -62].enumerated() {
        try radios.setPower(power)
        // The kernel announces this change of the link, but no line is written about it.
        try radios.station.run("ip addr add 10.78.0.\(number + 1)/32 dev wlan0")
        let line = try each.next()
        #expect((line.event, line.reason, line.signal) == ("wifi", "signal_changed", power))
        #expect(line.sequence == 1)
      }
      try radios.setPower(-75)
      let line = try steps.next()
      #expect((line.event, line.reason, line.signal) == ("wifi", "signal_changed", -75))
      #expect(line.wifi?["signal_percent"] as? Int == 50)
      #expect(line.sequence == 1)
      #expect((line.frequency, line.accessPoint) == (nil, nil))
      #expect(try quiet.isQuiet(in: radios.station))
      #expect(quiet.lines.dropFirst().allSatisfy { $0.event == "reachability" })
    }

    @Test func `a minute of noise is told four times at most, and wakes nobody who has not asked`() throws {
      let radios = try GuestRadios()
      try radios.setPower(-65)
      try radios.start(.home)
      try radios.join(.home)
      try radios.configure()
      let steps = try radios.station.follow("--signal")
      let quiet = try radios.station.follow()
      for one in [steps, quiet] { #expect(try one.next().signal == -65) }
      // A follower without `--signal` never reads the signal by itself.
      try quiet.process.waitUntilIdle()
      for second in 0..<60 {
        try radios.setPower(-65 + [0, 2, -2, 1, -1, 2, -2][second % 7])
        sleep(1)
      }
      #expect(quiet.process.timeToNextTimer == nil)
      var count = 0
      while steps.process.hasLine {
        #expect(try steps.next().reason == "signal_changed")
        count += 1
      }
      #expect(count <= 4)
      try radios.setPower(-80)
      while try steps.next().signal != -80 {}
    }

    @Test func `a bar's signal is fresh`() throws {
      let radios = try GuestRadios()
      try radios.setPower(-50)
      try radios.start(.home)
      try radios.join(.home)
      try radios.configure()
      let bar = try ChildProcess(
        radios.station.command([
          Programs.netwatch, "-f", "--no-service", "--format", "polybar", "--template", "{ssid} {signal} {band}",
        ]))
      #expect(try bar.nextLine()?.contains("home 100% 2.4 GHz") == true)
      let other = try ChildProcess(
        radios.station.command([Programs.netwatch, "-f", "--no-service", "--format", "waybar"]))
      #expect(try other.nextLine()?.contains(#""percentage":100"#) == true)
      try radios.setPower(-80)
      #expect(try bar.nextLine()?.contains("home \u{2007}40% 2.4 GHz") == true)
      #expect(try other.nextLine()?.contains(#""percentage":40"#) == true)
    }

    @Test func `each roam is told once, in order, with the access point's address and frequency`() throws {
      let radios = try GuestRadios.online()
      let follow = try radios.station.follow("--hold", "30", "--wifi-details", "--bssid")
      let first = try follow.next()
      #expect((first.accessPoint, first.frequency, first.band) == (GuestRadios.address(of: 1), 2412, "2.4 GHz"))
      let patient = try radios.station.follow("--bssid")
      #expect(try patient.next().accessPoint == GuestRadios.address(of: 1))
      let quiet = try radios.station.follow("--hold", "30")
      #expect(try quiet.next().accessPoint == nil)
      try radios.start(.home, radio: 2)
      for radio in [2, 1, 2] {
        try radios.roam(to: GuestRadios.address(of: radio))
        let line = try follow.next()
        #expect((line.event, line.reason) == ("wifi", "roamed"))
        #expect(line.accessPoint == GuestRadios.address(of: radio))
        #expect(line.frequency == (radio == 1 ? 2412 : 2437))
        #expect(line.networkName == "home")
        #expect(line.sequence == 1)
      }
      var roams: [String] = []
      while roams.count < 3 {
        let line = try patient.next()
        if line.reason == "roamed" { roams.append(line.accessPoint ?? "?") }
      }
      #expect(roams == [2, 1, 2].map(GuestRadios.address))
      // A client that has not asked for the signal gets nothing.
      #expect(try Follow.areQuiet([follow, quiet], in: radios.station))
    }

    @Test func `a service reads the signal for all who ask, each as he wants it`() throws {
      let radios = try GuestRadios()
      try radios.setPower(-50)
      try radios.start(.home)
      try radios.join(.home)
      try radios.configure()
      let service = try RunningService(in: radios.station)
      let quiet = try service.client()
      _ = try quiet.next()
      let steps = try service.client()
      let each = try service.client()
      for (client, wish) in [(steps, #"{"signal":true}"#), (each, #"{"signal":"dbm"}"#)] {
        #expect(try client.next().event == "initial")
        client.send(wish)
        let answer = try client.next()
        #expect((answer.event, answer.reason, answer.signal) == ("wifi", "initial", -50))
      }
      each.send(#"{"bssid":true}"#)
      #expect(try each.next().accessPoint == GuestRadios.address(of: 1))
      let follow = try service.follow("--signal", "dbm")
      #expect(try follow.next().event == "initial")
      try radios.setPower(-57)
      let line = try each.next()
      #expect((line.reason, line.signal, line.accessPoint) == ("signal_changed", -57, GuestRadios.address(of: 1)))
      #expect(try follow.next().signal == -57)
      try radios.setPower(-80)
      #expect(try follow.next().signal == -80)
      let step = try steps.next()
      #expect((step.reason, step.signal, step.accessPoint) == ("signal_changed", -80, nil))
      // A client that connects between two readings of the signal does not take a line from the others.
      try radios.setPower(-50)
      let late = try service.client()
      _ = try late.next()
      var answer = Optional<Int>.none
      while answer != -50 {
        late.send(#"{"signal":true}"#)
        answer = try late.next().signal
      }
      #expect(try steps.next().signal == -50)
      // When the service has ended, the follower reads the signal itself.
      try service.kill()
      try radios.setPower(-70)
      while try follow.next().signal != -70 {}
      #expect(throws: (any Error).self) { try quiet.next() }
    }
  }
}
