import Netwatch
import NetwatchTestSupport
import Testing

/// Files of rules: what their lines mean, and how later lines count.
@Suite struct NetworkRulesTests {
  private static func read(_ files: String...) -> (rules: NetworkRules, faults: [String]) {
    var rules = NetworkRules()
    var faults: [String] = []
    for (number, file) in files.enumerated() {
      faults += rules.read(Array(file.utf8), of: "/f\(number)").map(\.description)
    }
    return (rules, faults)
  }

  private static func pattern(_ text: String) -> Glob { Glob(pattern: text.utf8) }
  private static func name(_ text: String) -> Glob { Glob(name: text.utf8) }

  @Test func `each statement is a line in the words of the options`() {
    let (rules, faults) = Self.read(
      """
      \u{feff}# Rules of this machine.
      metered ssid "Train"\r
      not-metered interface usb0
      \tmodem  ppp0   # of the car

      tunnel vpn*
      ignore docker*
      link-local
      probe http://example.org/generate_204
      constrained ssid "Plane"
      metered ssid "a\\"b\\\\c\\xff\\x00 #"
      constrained interface a#b
      """)
    #expect(faults == [])
    let odd = Glob(name: Array("a\"b\\c".utf8) + [0xff, 0] + Array(" #".utf8))
    #expect(
      rules.statements == [
        .metered(true, .ssid(Self.name("Train"))), .metered(false, .interface(Self.pattern("usb0"))),
        .modem(Self.pattern("ppp0")), .tunnel(Self.pattern("vpn*")), .ignored(Self.pattern("docker*")), .linkLocal,
        .probe("http://example.org/generate_204"), .constrained(.ssid(Self.name("Plane"))),
        .metered(true, .ssid(odd)), .constrained(.interface(Self.pattern("a#b"))),
      ])
  }

  @Test(arguments: [
    (
      "meterd ssid x",
      "there is no rule 'meterd'; the words are metered, not-metered, constrained, modem, tunnel, ignore, link-local, probe, portal-api and no"
    ),
    ("metered", "metered needs ssid NAME or interface NAME after it"),
    ("metered Train", "metered needs ssid NAME or interface NAME after it"),
    ("metered ssid", "metered ssid needs a name or a pattern, such as metered ssid \"My phone\""),
    ("metered ssid My phone", "metered ssid takes one name; put a name with spaces in double quotes"),
    ("metered ssid \"\"", "the name after metered ssid needs 1 to 32 bytes"),
    ("metered ssid \"123456789 123456789 123456789 123\"", "the name after metered ssid needs 1 to 32 bytes"),
    ("modem \"123456789 123456\"", "the name after modem needs 1 to 15 bytes"),
    ("modem \"a", "the second double quote is missing"),
    ("modem \"a\"b", "there is no space after the second double quote; write \\\" for a quote within a name"),
    ("modem a\"b\"", "a double quote can only begin a word; put the whole name in double quotes"),
    ("modem \"a\\n\"", "within double quotes, write \\\\ for a backslash, \\\" for a quote, or \\x41 for a byte"),
    ("modem \"\\x1\"", "\\x needs two hexadecimal digits"), ("modem \"\\x+1\"", "\\x needs two hexadecimal digits"),
    ("link-local yes", "link-local takes no word; leave out the rest of the line"),
    ("portal-api now", "portal-api takes no word; leave out the rest of the line"),
    ("probe", "probe takes one URL, such as http://example.org/generate_204"),
    ("probe example.org", "'example.org' is no URL; write one such as http://example.org/generate_204."),
    ("no", "no needs the statement that it takes back, such as no modem ppp0"),
    ("no modem", "modem needs a name or a pattern, such as modem wl*"),
    (
      "\u{1b}[2J",
      "there is no rule '?[2J'; the words are metered, not-metered, constrained, modem, tunnel, ignore, link-local, probe, portal-api and no"
    ),
  ])
  func `a broken line is named with its file and number, and the others count`(_ line: String, _ sentence: String) {
    let (rules, faults) = Self.read("modem a\n\n\(line)\nmodem b\n")
    #expect(faults == ["/f0:3: \(sentence)"])
    #expect(rules.statements == [.modem(Self.pattern("a")), .modem(Self.pattern("b"))])
  }

  @Test func `a later file can take an entry back`() {
    let first = "modem ppp0\nmetered ssid \"Train\"\nmetered ssid Train\nprobe http://a.example/\nlink-local\n"
    #expect(Self.read(first, "no modem ppp0").rules == Self.read(String(first.dropFirst("modem ppp0\n".count))).rules)
    // A pattern that matches one name only is the same entry as the name.
    #expect(Self.read("metered ssid \"a\"", "no metered ssid a").rules == NetworkRules())
    #expect(Self.read("metered ssid \"a*\"", "no metered ssid a*").rules == Self.read("metered ssid \"a*\"").rules)
    #expect(Self.read("probe http://a.example/", "no probe").rules == NetworkRules())
    #expect(Self.read("portal-api").rules.asksPortal)
    #expect(Self.read("portal-api").rules.judging == [])
    #expect(Self.read("portal-api", "no portal-api").rules == NetworkRules())
    #expect(Self.read("probe http://a.example/", "no probe http://b.example/").rules.probe == "http://a.example/")
    #expect(Self.read("link-local", "no link-local").rules == NetworkRules())
    // `no` is no fault if the entry does not exist, and entries that come later still count.
    #expect(Self.read("no modem a\nmodem a").rules == Self.read("modem a").rules)
    #expect(Self.read("no modem a").faults == [])
  }

  // MARK: What rules do

  private static func kernel(_ rules: String, _ configuration: MonitorConfiguration = .withInterfaces) -> ScriptedKernel
  {
    var kernel = ScriptedKernel(configuration, rules: read(rules).rules)
    kernel.facts = [
      .loopback, .link(2, "wlan0", device: DeviceTraits(isWireless: true)),
      .wireless(index: 2, WirelessLink(mode: .station, ssid: SSID("Train 7".utf8))), .address(2, .ip("10.1.0.1")),
      .link(3, "ppp0", .unknown, kind: "ppp", hardwareType: 512), .address(3, .ip("10.2.0.1")),
    ]
    kernel.answers[.ipv4] = .via(2, .ip("10.1.0.2"), from: .ip("10.1.0.1"))
    kernel.start()
    return kernel
  }

  @Test(
    arguments: [
      ("metered ssid Train*", .rule), ("metered ssid \"Train 7\"", .rule), ("metered ssid \"Train*\"", nil),
      ("metered interface wlan0", .rule), ("metered interface Train*", nil), ("metered ssid wlan0", nil),
      ("metered ssid Train*\nnot-metered ssid \"Train 7\"", nil),
      ("not-metered ssid \"Train 7\"\nmetered ssid Train*", .rule),
      ("metered ssid Train*\nno metered ssid Train*", nil),
    ] as [(String, Expense?)])
  func `a network costs money if the last rule about it says so`(_ rules: String, _ expense: Expense?) {
    let kernel = Self.kernel(rules)
    #expect(kernel.published.last?.expense == expense)
    #expect(kernel.published.last?.isExpensive == (expense != nil))
    #expect(kernel.published.last?.isConstrained == false)
  }

  @Test func `a path is constrained if a rule says so`() {
    #expect(Self.kernel("constrained ssid Train*").published.last?.isConstrained == true)
    #expect(Self.kernel("constrained interface wlan0").published.last?.isConstrained == true)
    let kernel = Self.kernel("constrained interface ppp0")
    #expect(kernel.published.last?.isConstrained == false)
    #expect(kernel.published.last?.interfaces.map(\.isConstrained) == [false, false, true])
  }

  @Test func `new rules count at once, and old ones no longer`() {
    var kernel = Self.kernel("")
    #expect(kernel.story == ["wifi initial wlan0"])
    func rule(_ text: String) { kernel.handle(.ruled(Self.read(text).rules)) }
    rule("metered ssid Train*")
    #expect(kernel.published.last?.expense == .rule)
    #expect(kernel.story.last == "wifi rules_changed wlan0")
    // The kernel's route leads over a link that does not exist for netwatch any more.
    rule("ignore wlan0")
    #expect(kernel.published.last?.isReachable == false)
    #expect(kernel.published.last?.reason == .rulesChanged)
    rule("modem ppp0\nlink-local")
    #expect(kernel.published.last?.expense == nil)
    #expect(kernel.published.last?.interfaces.map(\.medium) == [.other, .wifi, .wwan])
    rule("")
    #expect(kernel.published.last?.interfaces.map(\.medium) == [.other, .wifi, .other])
    let count = kernel.published.count
    // A rule that the verdict does not depend on is no news.
    rule("probe http://example.org/")
    rule("")
    #expect(kernel.published.count == count)
  }

  /// Returns a kernel with a bridge, and with a VLAN on a phone that shares its connection.
  private static func stacks(_ rules: String = "") -> ScriptedKernel {
    var kernel = ScriptedKernel(rules: read(rules).rules)
    kernel.facts = [
      .loopback, .link(2, "eth0", master: 4), .link(3, "usb0", device: DeviceTraits(isTether: true)),
      .link(4, "br0", kind: "bridge"), .address(4, .ip("10.1.0.1")), .link(5, "usb0.7", kind: "vlan", lower: 3),
      .address(5, .ip("10.2.0.1")),
    ]
    kernel.answers[.ipv4] = .via(4, .ip("10.1.0.2"), from: .ip("10.1.0.1"))
    kernel.start()
    return kernel
  }

  @Test func `a new rule about a link that stands on others counts at once`() {
    var kernel = Self.stacks()
    for (rules, cost) in [
      ("metered interface br0", LinkCost(.rule)), ("constrained interface br0", LinkCost(isConstrained: true)),
      ("constrained interface eth0", LinkCost(isConstrained: true)), ("metered interface eth0", LinkCost(.rule)),
      ("metered interface eth0\nnot-metered interface br0", LinkCost()), ("metered interface *", LinkCost(.rule)),
      ("", LinkCost()),
    ] {
      kernel.handle(.ruled(Self.read(rules).rules))
      #expect(kernel.published.last?.verdict.cost == cost, "\(rules)")
    }
  }

  @Test func `a link that is no longer ignored carries again what stands on it`() {
    var kernel = Self.stacks("ignore usb0")
    kernel.answers[.ipv4] = .via(5, .ip("10.2.0.2"), from: .ip("10.2.0.1"))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.published.last?.isReachable == false || kernel.published.last?.medium == .virtual)
    kernel.handle(.ruled(NetworkRules()))
    #expect(kernel.published.last?.medium == .wired)
    #expect(kernel.published.last?.expense == .usb)
    #expect(kernel.published.last?.reason == .rulesChanged)
  }

  @Test(arguments: [
    ("metered interface wg0", LinkCost(.rule)), ("constrained interface wg0", LinkCost(isConstrained: true)),
    ("metered interface eth0", LinkCost(.rule)), ("metered interface eth0\nnot-metered interface wg0", LinkCost()),
  ])
  func `a rule about a tunnel counts, whatever carries it`(_ rules: String, _ cost: LinkCost) {
    var configuration = MonitorConfiguration()
    configuration.rules = Self.read(rules).rules
    var kernel = ScriptedKernel.wgQuick(configuration)
    kernel.start()
    #expect(kernel.published.last?.vpn?.interfaceName == "wg0")
    #expect(kernel.published.last?.verdict.cost == cost)
  }

  @Test func `a pattern without an end is soon refused`() {
    let (rules, faults) = Self.read("ignore " + String(repeating: "[", count: 60_000))
    #expect(rules == NetworkRules())
    #expect(faults == ["/f0:1: the pattern after ignore is longer than 255 bytes"])
  }

  @Test func `what an option or a program says counts more than the machine's rules`() {
    var configuration = MonitorConfiguration()
    configuration.isExpensive = { _, network in network?.text == "Train 7" ? false : nil }
    #expect(Self.kernel("metered ssid Train*", configuration).published.last?.expense == nil)
    configuration = MonitorConfiguration()
    configuration.rules = Self.read("not-metered interface wlan0").rules
    #expect(Self.kernel("metered ssid Train*", configuration).published.last?.expense == nil)
  }
}
