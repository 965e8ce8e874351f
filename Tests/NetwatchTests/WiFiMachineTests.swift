import NetwatchTestSupport
import Testing

@testable import Netwatch

@Suite struct WiFiMachineTests {
  private static let home = WiFiMachine.Association(radio: 3, ssid: SSID(Array("home".utf8)))
  private static let cafe = WiFiMachine.Association(radio: 3, ssid: SSID(Array("cafe".utf8)))

  private static func connection(_ accessPoint: UInt64?, _ signal: Int? = -55) -> WiFiConnection {
    var connection = WiFiConnection()
    connection.accessPointAddress = accessPoint
    connection.signal = signal.map { WiFiSignal(dBm: $0) }
    return connection
  }

  /// Returns a machine to which a path over an access point of the network `home` was published at 1 s.
  private static func machine(
    _ changes: WiFiReporting.SignalChanges? = .steps, _ accessPoint: UInt64? = 1, _ signal: Int? = -55
  ) -> WiFiMachine {
    var machine = WiFiMachine()
    machine.signalChanges = changes
    #expect(machine.handle(.published(home, connection(accessPoint, signal)), at: .seconds(1)).isEmpty)
    return machine
  }

  private static func summary(_ news: [WiFiMachine.News]) -> [String] {
    news.map { news in
      "\(news.reason.rawValue) \(news.connection.accessPointAddress ?? 0) \(news.connection.signal?.dBm ?? 0)"
    }
  }

  // MARK: The signal

  @Test func `noise of 2 dB at the edge of a step is told once at most`() {
    for mean in -95 ... -55 {
      var machine = Self.machine(.steps, 1, mean)
      var random = SplitMix(seed: UInt64(bitPattern: Int64(mean)))
      var lines = 0
      for second in 1...200 {
        let signal = mean + Int(random.next() % 5) - 2
        lines += machine.handle(.sampled(Self.connection(1, signal)), at: .seconds(second)).count
      }
      #expect(lines <= 1, "at \(mean) dBm")
    }
  }

  @Test func `what was told is never more than a step wrong`() {
    func step(_ signal: Int) -> Int { [-90, -80, -70, -60].count { signal >= $0 } }
    var machine = Self.machine(.steps, 1, -55)
    var told = -55
    var signal = -55
    var random = SplitMix(seed: 7)
    for second in 1...20_000 {
      signal = min(max(signal + Int(random.next() % 21) - 10, -110), -20)
      for news in machine.handle(.sampled(Self.connection(1, signal)), at: .seconds(second)) {
        #expect(news.reason == .signalChanged)
        told = news.connection.signal?.dBm ?? 0
        #expect(told == signal)
      }
      #expect(abs(step(told) - step(signal)) <= 1)
    }
  }

  @Test(arguments: [(-58, nil), (-61, nil), (-63, nil), (-64, -64), (-90, -90), (-1, nil)])
  func `a step is left 3 dB beyond its edge`(_ signal: Int, _ told: Int?) {
    var machine = Self.machine()
    let news = machine.handle(.sampled(Self.connection(1, signal)), at: .seconds(5))
    #expect(news.map { $0.connection.signal?.dBm } == (told.map { [$0] } ?? []))
  }

  @Test func `each change is told to who wants each, and none to who wants none`() {
    var all = Self.machine(.all)
    #expect(Self.summary(all.handle(.sampled(Self.connection(1, -56)), at: .seconds(5))) == ["signal_changed 1 -56"])
    #expect(all.handle(.sampled(Self.connection(1, -56)), at: .seconds(10)).isEmpty)
    var none = Self.machine(nil)
    #expect(!none.isSampling)
    #expect(none.handle(.sampled(Self.connection(1, -90)), at: .seconds(5)).isEmpty)
  }

  @Test func `a signal is read while a network carries the traffic whose driver tells it`() {
    var machine = Self.machine()
    #expect(machine.isSampling)
    _ = machine.handle(.published(nil, nil), at: .seconds(2))
    #expect(!machine.isSampling)
    #expect(machine.handle(.sampled(Self.connection(1, -90)), at: .seconds(5)).isEmpty)
    #expect(machine.handle(.published(Self.home, Self.connection(1, nil)), at: .seconds(6)).isEmpty)
    #expect(!machine.isSampling)
    #expect(machine.handle(.sampled(nil), at: .seconds(7)).isEmpty)
    #expect(!WiFiMachine().isSampling)
  }

  // MARK: Roams

  private static func join(
    _ machine: inout WiFiMachine, _ accessPoint: UInt64, of association: WiFiMachine.Association = home,
    now: WiFiConnection? = nil, at second: Int = 2
  ) -> [String] {
    let now = now ?? connection(accessPoint, -70)
    return summary(machine.handle(.associated(association, accessPoint: accessPoint, now), at: .seconds(second)))
  }

  @Test func `a roam is told once`() {
    var machine = Self.machine()
    #expect(Self.join(&machine, 2) == ["roamed 2 -70"])
    #expect(Self.join(&machine, 2).isEmpty)
    #expect(Self.join(&machine, 1) == ["roamed 1 -70"])
  }

  @Test func `of two roams at once each is told, the first without what is known of the second`() {
    var machine = Self.machine()
    #expect(Self.join(&machine, 2, now: Self.connection(3, -40)) == ["roamed 2 0"])
    #expect(Self.join(&machine, 3, now: Self.connection(3, -40)) == ["roamed 3 -40"])
    #expect(machine.isSampling)
  }

  @Test func `a roam waits for a path, and comes before the next`() {
    var machine = Self.machine()
    #expect(machine.handle(.published(nil, nil), at: .seconds(2)).isEmpty)
    #expect(Self.join(&machine, 2, at: 3).isEmpty)
    #expect(Self.join(&machine, 3, at: 11).isEmpty)
    let news = machine.handle(.published(Self.home, Self.connection(3, -62)), at: .seconds(30))
    #expect(Self.summary(news) == ["roamed 2 0", "roamed 3 -62"])
    #expect(machine.handle(.published(Self.home, Self.connection(3, -62)), at: .seconds(31)).isEmpty)
  }

  @Test func `a path that knows of the new access point first takes nothing from the roam`() {
    var machine = Self.machine()
    #expect(machine.handle(.published(Self.home, Self.connection(3)), at: .seconds(2)).isEmpty)
    #expect(Self.join(&machine, 2, now: Self.connection(3)) == ["roamed 2 0"])
    #expect(Self.join(&machine, 3, now: Self.connection(3)) == ["roamed 3 -55"])
  }

  @Test func `to come back after a while is no roam, and neither is another network or another radio`() {
    var machine = Self.machine()
    _ = machine.handle(.published(nil, nil), at: .seconds(2))
    #expect(Self.join(&machine, 2, at: 13).isEmpty)
    #expect(machine.handle(.published(Self.home, Self.connection(2)), at: .seconds(14)).isEmpty)
    #expect(Self.join(&machine, 7, of: Self.cafe, at: 15).isEmpty)
    #expect(Self.join(&machine, 7, of: .init(radio: 4, ssid: Self.home.ssid), at: 15).isEmpty)
    #expect(machine.handle(.published(Self.cafe, Self.connection(7)), at: .seconds(16)).isEmpty)
    #expect(Self.join(&machine, 8, of: Self.cafe, at: 17) == ["roamed 8 -70"])
  }

  @Test func `where the first access point is not known, joining one is no roam`() {
    var machine = Self.machine(.steps, nil)
    #expect(Self.join(&machine, 2).isEmpty)
    #expect(Self.join(&machine, 3) == ["roamed 3 -70"])
  }

  @Test func `after messages were lost, the driver says whether there was a roam`() {
    var machine = Self.machine()
    #expect(machine.handle(.associationsLost, at: .seconds(2)).isEmpty)
    #expect(machine.handle(.sampled(Self.connection(1)), at: .seconds(2)).isEmpty)
    #expect(machine.handle(.associationsLost, at: .seconds(3)).isEmpty)
    #expect(Self.summary(machine.handle(.sampled(Self.connection(2)), at: .seconds(3))) == ["roamed 2 -55"])
    #expect(Self.join(&machine, 2, at: 4).isEmpty)
    // Without such a loss, a sample with another access point is no news of a roam.
    #expect(machine.handle(.sampled(Self.connection(9)), at: .seconds(5)).isEmpty)
  }

  @Test func `a storm while no path can be told is one line`() {
    var machine = Self.machine()
    _ = machine.handle(.published(nil, nil), at: .seconds(2))
    for accessPoint in UInt64(2)...100 { #expect(Self.join(&machine, accessPoint, at: 3).isEmpty) }
    let news = machine.handle(.published(Self.home, Self.connection(100)), at: .seconds(4))
    #expect(news.map(\.connection.accessPointAddress) == [100])
    #expect(news.map(\.connection.roamsInLastHour) == [99])
  }

  // MARK: Storms

  @Test func `a storm of roams is one line a minute, with their number`() {
    var machine = Self.machine(nil, 1)
    var lines: [(second: Int, accessPoint: UInt64?, roams: Int?)] = []
    func take(_ news: [WiFiMachine.News], _ second: Int) {
      lines += news.map { (second, $0.connection.accessPointAddress, $0.connection.roamsInLastHour) }
    }
    // To and fro every second, for five minutes.
    for second in 2..<302 {
      let accessPoint = UInt64(second % 2 == 0 ? 2 : 1)
      take(
        machine.handle(
          .associated(Self.home, accessPoint: accessPoint, Self.connection(accessPoint)), at: .seconds(second)), second)
      if let deadline = machine.deadline, deadline <= .seconds(second) {
        take(machine.handle(.sampled(Self.connection(accessPoint)), at: .seconds(second)), second)
      }
    }
    #expect(lines.map(\.second) == [2, 3, 4, 5, 65, 125, 185, 245])
    #expect(lines.map(\.roams) == [1, 2, 3, 4, 64, 124, 184, 244])
    // The last ones are told when the minute is over.
    #expect(machine.deadline == .seconds(305))
    take(machine.handle(.sampled(Self.connection(1)), at: .seconds(305)), 305)
    #expect(lines.last?.accessPoint == 1)
    #expect(lines.last?.roams == 300)
    #expect(machine.deadline == nil)
    // A roam after the storm is told at once, and the hour forgets.
    take(machine.handle(.associated(Self.home, accessPoint: 2, Self.connection(2)), at: .seconds(4_000)), 4_000)
    #expect(lines.last?.second == 4_000)
    #expect(lines.last?.roams == 1)
  }

  @Test func `what waits in a storm is told although the driver does not answer, and forgotten with the network`() {
    var machine = Self.machine(nil, 1)
    for second in 2..<8 {
      _ = machine.handle(.associated(Self.home, accessPoint: UInt64(second), nil), at: .seconds(second))
    }
    #expect(machine.deadline == .seconds(65))
    var other = machine
    #expect(Self.summary(machine.handle(.sampled(nil), at: .seconds(65))) == ["roamed 7 0"])
    #expect(other.handle(.published(nil, nil), at: .seconds(10)).isEmpty)
    #expect(other.deadline == nil)
    #expect(other.handle(.published(Self.cafe, Self.connection(9)), at: .seconds(20)).isEmpty)
    #expect(other.deadline == nil)
  }
}
