import Foundation
import Netwatch
import Testing

@testable import NetwatchLines

/// The options that callers of libnetwatch write as words.
@Suite struct OptionWordTests {
  @Test func `no options are the defaults`() throws {
    let options = try StatusOptions(libraryOptions: [])
    #expect(options.configuration.target == .internet)
    #expect(options.configuration.hold == .zero)
    #expect(options.configuration.rules == NetworkRules())
    #expect(options.rules == nil)
    #expect(options.service == .everything)
    #expect(options.activity.counts == .requests)
    #expect(!options.listsInterfaces)
    // Without the option, no process is started.
    #expect(options.probe == nil && options.probeByRule == nil)
    #expect(options.trafficInterval == nil && !options.tellsQuality && !options.tellsStages && !options.namesNetwork)
  }

  @Test func `each option is what it is on the command line`() throws {
    let options = try StatusOptions(libraryOptions: [
      "target=192.0.2.1", "interface=enp*", "interface=wl?", "ignore=docker0", "wwan=ppp*", "tunnel=ppp9", "hold=2.5",
      "not-expensive=Train 2", "link-local", "interfaces=yes", "expensive=Train*", "rules", "activity=tcp,udp",
      "activity-ignore=443", "activity-ignore=10.0.0.0/8",
      "activity-interval=0.1", "activity-patience=12", "probe=http://192.0.2.1/", "probe-expect=yes",
      "probe-interval=60",
      "probe-timeout=3", "stages", "nudge", "quality", "traffic", "traffic-interval=0.5", "signal", "wifi-details",
      "bssid",
      "network-id",
    ])
    let configuration = options.configuration
    #expect("\(configuration.target)" == "192.0.2.1")
    #expect(configuration.includesInterface?("enp1s0") == true)
    #expect(configuration.includesInterface?("wl0") == true)
    #expect(configuration.includesInterface?("eth0") == false)
    func glob(_ text: String) -> Glob { Glob(pattern: text.utf8) }
    #expect(
      configuration.rules.statements == [
        .modem(glob("ppp*")), .tunnel(glob("ppp9")), .ignored(glob("docker0")),
        // The order of these rules does not depend on the order of the options.
        .metered(true, .either(glob("Train*"))), .metered(false, .either(glob("Train 2"))), .linkLocal,
      ])
    #expect(configuration.hold == .seconds(2.5))
    #expect(configuration.publishesInterfaceChanges)
    #expect(options.listsInterfaces)
    #expect(options.rules != nil)
    #expect(options.activity.counts == [.tcp, .udp])
    #expect(options.activity.connections.exclusions.count == 2)
    #expect(options.activity.connections.rules.interval == .milliseconds(100))
    #expect(options.activity.connections.rules.patience == .seconds(12))
    let probe = try #require(options.probe)
    #expect(probe.url == "http://192.0.2.1/" && probe.expectation == "yes")
    #expect(probe.interval == .seconds(60) && probe.timeout == .seconds(3))
    #expect(options.tellsStages && options.tellsEachStage && options.nudgesGateway && options.tellsQuality)
    #expect(options.trafficInterval == .milliseconds(500))
    #expect(configuration.wifi.signal == .steps)
    #expect(configuration.wifi.includesDetails && configuration.wifi.includesAccessPoint)
    #expect(options.namesNetwork)
  }

  @Test func `traffic is measured each second, and the signal in steps`() throws {
    #expect(try StatusOptions(libraryOptions: ["traffic"]).trafficInterval == .seconds(1))
    #expect(try StatusOptions(libraryOptions: ["signal=dbm"]).configuration.wifi.signal == .all)
  }

  @Test func `a flag is on or off`() throws {
    for word in ["no-service", "no-service=yes", "no-service=1", "no-service=true"] {
      #expect(try StatusOptions(libraryOptions: [word]).service == .nothing)
    }
    for word in ["no-service=no", "no-service=0", "no-service=false"] {
      #expect(try StatusOptions(libraryOptions: [word]).service == .everything)
    }
  }

  @Test(arguments: [
    "target=192.0.2.1", "interface=e*", "hold=1", "link-local", "interfaces", "wwan=x", "tunnel=x", "ignore=x",
    "stages",
    "network-id", "wifi-details", "bssid",
  ])
  func `a service judges only as it would by itself`(_ word: String) throws {
    #expect(try StatusOptions(libraryOptions: [word]).service == .activity)
    #expect(try StatusOptions(libraryOptions: [word, "no-service"]).service == .nothing)
  }

  @Test(arguments: ["quality", "traffic", "signal", "probe=http://192.0.2.1/"])
  func `a service judges also if figures are wanted`(_ word: String) throws {
    #expect(try StatusOptions(libraryOptions: [word]).service == .everything)
  }

  @Test(arguments: [
    ("colour=red", "there is no option 'colour'."), ("", "there is no option ''."), ("=x", "there is no option ''."),
    ("a\u{1b}b", "there is no option 'a?b'."), ("count=1", "there is no option 'count'."),
    ("hold", "hold needs a value; write hold=VALUE."), ("hold=", "hold needs a value; write hold=VALUE."),
    ("hold=nan", "hold: 'nan' is not a time, 0 or more; write seconds such as 2 or 0.5, or 30s, 5m or 1h."),
    ("hold=-1", "hold: '-1' is not a time, 0 or more; write seconds such as 2 or 0.5, or 30s, 5m or 1h."),
    ("hold=1e300", "hold: '1e300' is not a time, 0 or more; write seconds such as 2 or 0.5, or 30s, 5m or 1h."),
    ("interfaces=perhaps", "interfaces is yes or no."),
    ("activity=all,none", "activity: write requests, tcp, udp, all, or several of them such as tcp,udp."),
    ("activity-interval=0.1", "activity-interval is about TCP connections; add activity tcp."),
    ("activity-interval=0.01", "activity-interval needs 0.02 or more."),
    ("activity-patience=0", "activity-patience needs a number above 0."),
    ("activity-ignore=0", "activity-ignore: '0' is no port; write a number from 1 to 65535."),
    ("nudge", "nudge belongs to stages; add stages."),
    ("probe-timeout=1", "probe-timeout belongs to probe; add probe."),
    ("probe-expect=yes", "probe-expect belongs to probe; add probe."),
    ("traffic-interval=1", "traffic-interval belongs to traffic; add traffic."),
    ("probe=nowhere", "probe: 'nowhere' is no URL; write one such as http://example.org/generate_204."),
    ("signal=", "signal needs a value; write signal=VALUE."),
  ])
  func `what makes no sense is told in a sentence`(_ word: String, _ sentence: String) {
    do {
      _ = try StatusOptions(libraryOptions: ["hold=1", word])
      Issue.record("\(word) is taken")
    } catch {
      #expect(error.description == sentence)
    }
  }

  /// The C header, the manual page, Python and Node name the options of the table.
  @Test func `each binding has each option`() throws {
    let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../contrib")
    func text(_ path: String) throws -> String { try String(contentsOf: top.appending(path: path), encoding: .utf8) }
    let names = Set(WatchOptions.options.filter(\.about.isInLibrary).map { String($0.about.name.dropFirst(2)) })
    #expect(names.count >= 29)

    let header = try text("bindings/c/Sources/CNetwatch/netwatch.h").replacing("\n *", with: "")
    let listed = try #require(header.firstMatch(of: /without the dashes: ([a-z, -]+)\./)?.output.1)
    #expect(Set(listed.split(separator: ", ").map { $0.trimmingCharacters(in: .whitespaces) }) == names)

    let page = try text("man/netwatch.3").components(separatedBy: "\n.Sh OPTIONS\n")[1].components(
      separatedBy: "\n.El")[0]
    #expect(Set(page.matches(of: /\.It Cm ([a-z-]+)/).map { String($0.output.1) }) == names)

    let python = try text("bindings/python/src/libnetwatch/_monitor.py")
    let arguments = python.components(separatedBy: "class Options")[1].components(separatedBy: "class Monitor")[0]
    let inPython = arguments.matches(of: #/\n    ([a-z_]+): /#).map { $0.output.1.replacing("_", with: "-") }
    #expect(Set(inPython.map { String($0) }) == names)

    let node = try text("bindings/node/index.js").components(separatedBy: "const names = {")[1].components(
      separatedBy: "};")[0]
    #expect(Set(node.matches(of: /: \['([a-z-]+)'/).map { String($0.output.1) }) == names)
    let types = try text("bindings/node/index.d.ts").components(separatedBy: "interface Options {")[1].components(
      separatedBy: "\n}")[0]
    let inTypes = types.matches(of: #/\n  ([a-zA-Z]+)\?:/#).map { match in
      String(match.output.1.flatMap { $0.isUppercase ? "-\($0.lowercased())" : String($0) })
    }
    #expect(Set(inTypes) == names)
  }
}
