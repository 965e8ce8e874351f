import CLinux
import Glibc
import NetwatchTestSupport
import Testing

extension GuestTests {
  /// Tests in which the machine sleeps and wakes, or its clock is set.
  @Suite struct Sleep {
    /// Puts the machine to sleep until the hardware clock wakes it after 5 seconds, and checks that it has slept.
    private func sleep() throws {
      let before = timeAsleep
      try Guest.run("rtcwake --mode mem --seconds 5")
      #expect(timeAsleep - before > .seconds(1))
    }

    /// The time for which the machine has slept since it started. CLOCK_BOOTTIME also runs while the machine sleeps,
    /// CLOCK_MONOTONIC does not.
    private var timeAsleep: Duration { now(CLOCK_BOOTTIME) - now(CLOCK_MONOTONIC) }

    private func now(_ clock: clockid_t) -> Duration {
      var time = timespec()
      unsafe clock_gettime(clock, &time)
      return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test func `a sleep without a change writes no line`() throws {
      let namespace = try NetworkNamespace.online()
      let follow = try namespace.follow()
      #expect(try follow.summary() == "wifi initial v0")
      for _ in 1...2 {
        try sleep()
        #expect(try follow.isQuiet(in: namespace))
      }
    }

    @Test func `a change after a sleep is told`() throws {
      let namespace = try NetworkNamespace.online()
      let follow = try namespace.follow()
      #expect(try follow.summary() == "wifi initial v0")
      try sleep()
      try namespace.run("ip link set v1 down")
      #expect(try follow.summary() == "not-reachable no_carrier -")
    }

    @Test func `the time of a sleep is no time of an outage`() throws {
      let service = try RunningService()
      let client = try service.client()
      _ = try client.next()
      let start = now(CLOCK_MONOTONIC)
      try service.namespace.run("ip link set v1 down")
      while try client.next().reason != "no_carrier" {}
      try sleep()
      try service.namespace.run("ip link set v1 up")
      while try client.next().reason == "no_carrier" {}
      let awake = now(CLOCK_MONOTONIC) - start
      client.send("{\"stats\":1}")
      let answer = try client.answer()
      let count = try #require(answer.firstMatch(of: /"outages":\{"no_carrier":1\},"outage_ms":([0-9]+)/)?.output.1)
      let time = Duration.milliseconds(try #require(Int(count)))
      #expect(time > .zero && time <= awake, "\(time) of \(awake)")
    }

    @Test func `a sleep within an outage is in the log, and its time is no outage`() throws {
      let namespace = try NetworkNamespace.online()
      let folder = try TemporaryFolder()
      let state = "XDG_STATE_HOME=\(folder.path)"
      let follow = try Follow(
        ChildProcess(namespace.command([Programs.netwatch, "-f", "--json", "--log"]), environment: [state]))
      #expect(try follow.summary() == "wifi initial v0")
      let start = now(CLOCK_MONOTONIC)
      try namespace.run("ip link set v1 down")
      #expect(try follow.summary() == "not-reachable no_carrier -")
      try sleep()
      try namespace.run("ip link set v1 up")
      while try follow.next().status != "wifi" {}
      let awake = now(CLOCK_MONOTONIC) - start
      follow.process.signal(SIGTERM)
      _ = try follow.process.wait()
      /// Returns the entries that `netwatch log` prints, in the order of the log.
      func stored(_ arguments: String...) throws -> [(event: String, seconds: Double)] {
        try ChildProcess.run([Programs.netwatch, "log", "--json"] + arguments, environment: [state]).output.map {
          let event = try #require($0.firstMatch(of: /"event":"([a-z]+)"/)?.output.1)
          return (String(event), $0.firstMatch(of: /"seconds":([0-9.]+)/).flatMap { Double($0.output.1) } ?? 0)
        }
      }
      // The program that writes the log is another process, and may still write when netwatch has ended.
      let entries = try eventually(stored()) { $0.count >= 4 }
      #expect(entries.map(\.event) == ["change", "change", "suspend", "change"])
      #expect(entries.contains { $0.event == "suspend" && $0.seconds > 1 })
      let outages = try stored("--outages")
      #expect(outages.map(\.event) == ["outage"])
      #expect(outages.allSatisfy { .seconds($0.seconds) <= awake })
    }

    @Test func `a radio finds its network again after a sleep`() throws {
      let radios = try GuestRadios.online()
      let follow = try radios.station.follow("--hold", "60")
      #expect(try follow.next().networkName == "home")
      try sleep()
      // The access point was asleep as well, and does not know what has become of the station.
      try radios.stop()
      try radios.start(.home)
      try radios.join(.home)
      #expect(try follow.isQuiet(in: radios.station))
      #expect(follow.lines.last?.networkName == "home")
    }

    @Test func `the clock is set by hours`() throws {
      let namespace = try NetworkNamespace.online()
      let follow = try namespace.follow()
      #expect(try follow.summary() == "wifi initial v0")
      for step in ["+5 hours", "-5 hours"] {
        try Guest.run("date --set '\(step)'")
        #expect(try follow.isQuiet(in: namespace))
      }
    }
  }
}
