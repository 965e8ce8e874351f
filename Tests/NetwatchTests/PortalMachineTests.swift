import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct PortalMachineTests {
  /// A machine with a clock that tests set.
  private final class Client {
    private var machine = PortalMachine()
    var now = Duration.zero

    func handle(_ event: PortalMachine.Event) -> [PortalMachine.Effect] { machine.handle(event, at: now) }
    /// Lets the timer fire at a time.
    func fire(at time: Duration) -> [PortalMachine.Effect] {
      now = time
      return handle(.timerFired)
    }
    var portal: CaptivePortal? { machine.portal(at: now) }
    var awaitsAnswer: Bool { machine.awaitsAnswer }
  }

  private static let link = InterfaceName("wlan0")
  private static let address = PortalURL("https://portal.example/api")

  private static func announced(_ text: String?) -> PortalMachine.Event {
    .announced(text.flatMap(PortalAPI.init), over: link)
  }

  private static func answer(_ text: String) -> CaptivePortal? { CaptivePortal(json: text.utf8) }
  private static let captive = answer(#"{"captive":true,"user-portal-url":"https://portal.example/login"}"#)
  private static func free(_ seconds: Int) -> CaptivePortal? {
    answer(#"{"captive":false,"seconds-remaining":\#(seconds)}"#)
  }

  @Test func `an address is asked at once, and while a login is needed every 10 seconds`() throws {
    let address = try #require(Self.address)
    let client = Client()
    #expect(client.handle(Self.announced(nil)) == [])
    #expect(
      client.handle(Self.announced(address.description))
        == [.start(1, address, over: Self.link), .arm(.seconds(15))])
    #expect(client.awaitsAnswer)
    #expect(client.handle(Self.announced(address.description)) == [])
    client.now = .seconds(1)
    #expect(client.handle(.ended(1, Self.captive)) == [.concluded(isNews: true), .arm(.seconds(10))])
    #expect(client.portal == Self.captive)
    #expect(!client.awaitsAnswer)
    #expect(client.fire(at: .seconds(9)) == [.arm(.seconds(10))])
    #expect(client.fire(at: .seconds(10)) == [.start(2, address, over: Self.link), .arm(.seconds(25))])
    client.now = .seconds(11)
    #expect(client.handle(.ended(2, Self.captive)) == [.concluded(isNews: false), .arm(.seconds(20))])
    // An old request does not count.
    #expect(client.handle(.ended(1, Self.free(9))) == [])
  }

  @Test func `addresses that change every second are asked every 10 seconds`() throws {
    let client = Client()
    var starts: [Duration] = []
    for second in 0..<100 {
      client.now = .seconds(second)
      var effects = client.handle(Self.announced("https://portal.example/\(second % 7)"))
      effects += client.handle(.doubted) + client.handle(.timerFired)
      if effects.contains(where: { if case .start = $0 { true } else { false } }) { starts.append(client.now) }
    }
    #expect(starts.count == 10)
    #expect(zip(starts, starts.dropFirst()).allSatisfy { $1 - $0 >= .seconds(10) })
  }

  @Test(arguments: ["http://portal.example/api", "urn:ietf:params:capport:unrestricted", "ftp://portal.example/"])
  func `only https is asked`(_ address: String) {
    let client = Client()
    #expect(client.handle(Self.announced(address)) == [])
    #expect(!client.awaitsAnswer)
  }

  @Test func `nothing is asked over an unknown link, and a new link needs a new answer`() throws {
    let address = try #require(Self.address)
    let client = Client()
    #expect(client.handle(.announced(.address(address), over: nil)) == [])
    _ = client.handle(.announced(.address(address), over: Self.link))
    _ = client.handle(.ended(1, Self.free(3_600)))
    let other = InterfaceName("wlan1")
    client.now = .seconds(3)
    #expect(client.handle(.announced(.address(address), over: other)) == [.arm(.seconds(10))])
    #expect(client.portal == nil)
    #expect(client.fire(at: .seconds(10)) == [.start(2, address, over: other), .arm(.seconds(25))])
    #expect(client.handle(.announced(nil, over: other)) == [.kill(2), .arm(nil)])
  }

  @Test func `the end of a session is told 5 minutes before, and asked about when it has come`() throws {
    let address = try #require(Self.address)
    let client = Client()
    _ = client.handle(Self.announced(address.description))
    #expect(client.handle(.ended(1, Self.free(400))) == [.concluded(isNews: true), .arm(.seconds(100))])
    client.now = .seconds(60)
    #expect(client.portal?.secondsRemaining == 340)
    #expect(client.fire(at: .seconds(100)) == [.endsSoon, .arm(.seconds(300))])
    // The renewed answer says the same; the end is told once.
    #expect(client.fire(at: .seconds(300)) == [.start(2, address, over: Self.link), .arm(.seconds(315))])
    #expect(client.handle(.ended(2, Self.free(100))) == [.concluded(isNews: false), .arm(.seconds(401))])
    #expect(client.fire(at: .seconds(401)) == [.start(3, address, over: Self.link), .arm(.seconds(416))])
    #expect(client.handle(.ended(3, Self.captive)) == [.concluded(isNews: true), .arm(.seconds(411))])
  }

  @Test func `an answer with a near end tells it itself, and a longer session tells its own end`() {
    let client = Client()
    _ = client.handle(Self.announced("https://portal.example/api"))
    #expect(client.handle(.ended(1, Self.free(200))) == [.concluded(isNews: true), .arm(.seconds(201))])
    _ = client.fire(at: .seconds(201))
    #expect(client.handle(.ended(2, Self.free(1_000))) == [.concluded(isNews: false), .arm(.seconds(501))])
    _ = client.fire(at: .seconds(501))
    #expect(client.handle(.ended(3, Self.free(700))) == [.concluded(isNews: false), .arm(.seconds(801))])
    _ = client.fire(at: .seconds(801))
    #expect(client.handle(.ended(4, Self.free(400))) == [.concluded(isNews: false), .arm(.seconds(901))])
    #expect(client.fire(at: .seconds(901)) == [.endsSoon, .arm(.seconds(1_101))])
  }

  @Test func `requests without an answer become rarer, and the third makes the last answer void`() {
    let client = Client()
    _ = client.handle(Self.announced("https://portal.example/api"))
    _ = client.handle(.ended(1, Self.captive))
    var times: [Duration] = []
    var news: [Bool] = []
    var time = Duration.seconds(10)
    for _ in 0..<8 {
      for effect in client.fire(at: time) { if case .start = effect { times.append(time) } }
      // Nothing ends the request but its limit.
      for effect in client.fire(at: time + .seconds(15)) {
        if case .concluded(let isNews) = effect { news.append(isNews) }
        if case .arm(let next?) = effect { time = next }
      }
    }
    #expect(zip(times, times.dropFirst()).map { ($1 - $0).components.seconds } == [35, 55, 95, 175, 315, 315, 315])
    #expect(news == [false, false, true, false, false, false, false, false])
    #expect(client.portal == nil)
  }

  @Test(arguments: [
    (#"{"captive":true}"#, true), (#"{"captive":false,"extra":[1]}"#, true), (#"{"captive":"true"}"#, false),
    (#"{"captive":1}"#, false), ("{}", false), ("[]", false), ("", false), (#"{"captive":true"#, false),
    ("true", false),
  ])
  func `an answer has to say whether the network is captive`(_ text: String, _ isAnswer: Bool) {
    #expect((Self.answer(text) != nil) == isAnswer)
  }

  @Test func `only pages with https count, and only numbers that can be`() throws {
    for page in [
      "http://portal.example/", "javascript:alert(1)", "https://user@portal.example/", "file:///etc/passwd", "https://",
      "https://a b/", "HTTP://portal.example",
    ] {
      let portal = try #require(
        Self.answer(#"{"captive":true,"user-portal-url":"\#(page)","venue-info-url":"\#(page)"}"#))
      #expect(portal.loginPage == nil)
      #expect(portal.venuePage == nil)
    }
    let portal = try #require(
      Self.answer(
        #"{"captive":false,"user-portal-url":"HTTPS://p.example","seconds-remaining":-1,"bytes-remaining":1.5}"#))
    #expect(portal.loginPage?.description == "HTTPS://p.example")
    #expect(portal.secondsRemaining == nil)
    #expect(portal.bytesRemaining == nil)
    let long = try #require(Self.answer(#"{"captive":false,"seconds-remaining":9223372036854775807}"#))
    #expect(long.secondsRemaining == 315_360_000)
  }

  @Test func `random answers and events do no harm`() {
    var random = SplitMix(seed: 8_908)
    let pieces = [
      "{", "}", "[", "]", ":", ",", "\"", "captive", "true", "false", "null", "user-portal-url", "https://", "-1",
      "1e999",
      "9223372036854775808", "\\u0000", " ", "\u{7f}",
    ]
    let client = Client()
    for round in 0..<20_000 {
      client.now += .milliseconds(Int.random(in: 0...20_000, using: &random))
      let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
        .joined()
      let answer =
        Self.answer(text) ?? (Bool.random(using: &random) ? Self.free(Int.random(in: 0...400, using: &random)) : nil)
      switch Int.random(in: 0...4, using: &random) {
      case 0: _ = client.handle(.ended(Int.random(in: 0...(round + 1), using: &random), answer))
      case 1: _ = client.handle(Self.announced("https://p.example/\(Int.random(in: 0...2, using: &random))"))
      case 2: _ = client.handle(.doubted)
      case 3: _ = client.handle(Self.announced(nil))
      default: _ = client.handle(.timerFired)
      }
      #expect((client.portal?.secondsRemaining ?? 0) >= 0)
    }
  }
}
