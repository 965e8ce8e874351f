import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Tests of `netwatch mqtt` with mosquitto, and with the MQTT of nats-server.
@Suite(.timeLimit(.minutes(5))) struct MQTTTests {
  private let state: TemporaryFolder

  init() throws { state = try TemporaryFolder() }

  /// - Parameter mount: A command of a shell that changes what the publisher sees of the file system. Default: nothing.
  private func publish(
    to broker: MQTTBroker, _ arguments: [String] = [], url: String = "mqtt://127.0.0.1", state: TemporaryFolder? = nil,
    mount: String = ":"
  ) throws -> ChildProcess {
    try ChildProcess(
      broker.network.command(
        [
          "unshare", "--mount", "sh", "-c", "\(mount) && exec \"$@\" 2>>'\(self.state.file("errors"))'", "sh",
          Programs.netwatch, "mqtt", url,
        ] + arguments),
      environment: ["XDG_STATE_HOME=\((state ?? self.state).path)", "NETWATCH_SOCKET=/nonexistent", "XDG_RUNTIME_DIR="])
  }

  /// What publishers have written to standard error.
  private var errors: String { state.text(of: "errors") }

  private func end(_ publishers: ChildProcess...) throws {
    for publisher in publishers {
      publisher.signal(SIGTERM)
      #expect(try publisher.wait() == .exited(0))
    }
  }

  /// Brings the network and takes it away, so often, each time when `count` shows that the change before is known.
  private func change(_ broker: MQTTBroker, times: Int, _ count: () -> Int) throws {
    for number in 0..<times {
      let before = count()
      if number % 2 == 0 {
        try broker.network.configure("addr add 10.0.0.1/24 dev v0", "route add default via 10.0.0.2")
      } else {
        try broker.network.configure("addr del 10.0.0.1/24 dev v0")
      }
      try eventually(count()) { $0 > before }
    }
  }

  /// Whether the numbers are 1, 2, 3 and so on.
  private func isWhole(_ numbers: [Int]) -> Bool { numbers == Array(1...max(1, numbers.count)) }

  /// How many lines are in the spool, and the number of the last one.
  private var waiting: Int { spool.count }
  private var lastNumber: Int { (spool.last?.firstMatch(of: #/"n":([0-9]+)/#)?.1).flatMap { Int($0) } ?? 0 }
  private var spool: [Substring] { state.text(of: "netwatch/mqtt/spool").split(separator: "\n") }

  @Test(arguments: MQTTBroker.Kind.allCases)
  func `each change comes once and in order, after the word that the machine is there`(_ kind: MQTTBroker.Kind) throws {
    let broker = try MQTTBroker(kind)
    try broker.read()
    let publisher = try publish(to: broker, ["--label", "region=north", "--with=--no-service"])
    try eventually(broker.presence) { $0 == ["online"] }
    let come = { broker.numbers.values.first?.count ?? 0 }
    try eventually(come()) { $0 == 1 }
    try change(broker, times: 8, come)
    #expect(isWhole(broker.numbers.values.first ?? []))
    let online = try #require(broker.messages.first { $0.kind == "presence" })
    #expect((online.payload["labels"] as? [String: String]) == ["region": "north"])
    let last = try #require(broker.messages.last { $0.kind == "line" }?.payload)
    let line = try #require(last["line"] as? [String: Any])
    #expect((line["reachability"] as? [String: Any])?["status"] as? String == "not-reachable")
    let sentence = try #require(line["sentence"] as? String)
    #expect(try #require(last["since"] as? String) <= #require(line["time"] as? String))
    try end(publisher)
    try eventually(broker.presence) { $0 == ["online", "ended"] }
    #expect(waiting == 0)
    // What it said last can be asked while it is not there.
    let asked = try ChildProcess.run(
      broker.network.command(["mosquitto_sub", "-C", "2", "-W", "20", "-t", "netwatch/#", "-F", "%r %p"]))
    #expect(asked.output.count == 2 && asked.output.allSatisfy { $0.hasPrefix("1 ") })
    #expect(asked.output.contains { $0.contains(sentence) })
  }

  // mosquitto forgets at SIGKILL what it has taken since it last wrote its file, and the reader with it.
  @Test(arguments: [(MQTTBroker.Kind.mosquitto, SIGTERM), (.nats, SIGTERM), (.nats, SIGKILL)])
  func `what happens without the broker comes later, once and in order`(_ kind: MQTTBroker.Kind, _ signal: CInt) throws
  {
    let broker = try MQTTBroker(kind)
    try broker.read()
    let publisher = try publish(to: broker)
    try eventually(broker.numbers.count) { $0 == 1 }
    try broker.stop(signal)
    try change(broker, times: 20) { waiting }
    let last = lastNumber
    try broker.start()
    let numbers = try eventually(broker.numbers.values.first ?? []) { $0.count == last }
    #expect(isWhole(numbers))
    try eventually(waiting) { $0 == 0 }
    #expect(broker.numbers.count == 1)
    try end(publisher)
    #expect(errors.contains("netwatch: connected to the broker 127.0.0.1:1883"))
  }

  @Test func `a program that is killed leaves its will and its lines, and the next one tells them`() throws {
    let broker = try MQTTBroker(.mosquitto)
    try broker.read()
    let publisher = try publish(to: broker)
    try eventually(broker.numbers.count) { $0 == 1 }
    broker.freeze(true)
    try change(broker, times: 6) { lastNumber }
    let last = lastNumber
    publisher.signal(SIGKILL)
    broker.freeze(false)
    try eventually(broker.presence) { $0 == ["online", "lost"] }
    let next = try publish(to: broker)
    try eventually(broker.numbers.count) { $0 == 2 }
    let numbers = broker.numbers.values
    #expect(numbers.allSatisfy { isWhole($0) } && numbers.contains { $0.count == last }, "\(numbers)")
    #expect(broker.presence.last == "online")
    try end(next)
  }

  @Test func `a broker that does not answer any more is given up, and the next connection has everything`() throws {
    let broker = try MQTTBroker(.mosquitto)
    try broker.read()
    let publisher = try publish(to: broker, ["--silence", "15"])
    try eventually(broker.numbers.count) { $0 == 1 }
    broker.freeze(true)
    try change(broker, times: 4) { lastNumber }
    let last = lastNumber
    try eventually(errors, within: 60) { $0.contains("127.0.0.1:1883: the broker does not answer") }
    broker.freeze(false)
    let numbers = try eventually(broker.numbers.values.first ?? [], within: 60) { $0.count == last }
    #expect(isWhole(numbers))
    try end(publisher)
  }

  @Test func `beyond its limit, the spool counts what it drops`() throws {
    let broker = try MQTTBroker(.mosquitto)
    try broker.read()
    let publisher = try publish(to: broker, ["--keep", "100"])
    try eventually(broker.numbers.count) { $0 == 1 }
    try broker.stop()
    try change(broker, times: 130) { lastNumber }
    let end = lastNumber
    try broker.start()
    try eventually(broker.numbers.values.first?.last ?? 0) { $0 >= end }
    let gaps = broker.messages.compactMap { message in
      (message.payload["lost"] as? Int).map { ($0, message.payload["n"] as? Int ?? 0) }
    }
    #expect(gaps.count == 1)
    let numbers = try #require(broker.numbers.values.first)
    #expect(numbers.count + (gaps.first?.0 ?? 0) - 1 == numbers.last, "\(numbers) \(gaps)")
    try self.end(publisher)
  }

  // MARK: What goes wrong

  @Test func `an address that swallows packets is left for the next one of the broker's name`() throws {
    let broker = try MQTTBroker(.mosquitto)
    try broker.read()
    try broker.network.configure(
      "addr add fd09::1/64 dev v0 nodad", "neigh add fd09::9 lladdr 02:00:00:00:00:09 dev v0")
    try state.write("fd09::9 broker.test\n127.0.0.1 broker.test\n", to: "hosts")
    let publisher = try publish(
      to: broker, url: "mqtt://broker.test", mount: "mount --bind '\(state.file("hosts"))' /etc/hosts")
    // The kernel tries the first address for two minutes.
    try eventually(broker.numbers.count, within: 60) { $0 == 1 }
    #expect(broker.presence == ["online"] && errors == "")
    try end(publisher)
    try state.write("fd09::9 broker.test\n", to: "hosts")
    let vain = try publish(
      to: broker, url: "mqtt://broker.test", mount: "mount --bind '\(state.file("hosts"))' /etc/hosts")
    try eventually(errors) {
      $0.contains("broker.test:1883: it does not answer within five seconds; is its port open?")
    }
    try end(vain)
  }

  @Test func `a full disk loses no line while the program runs`() throws {
    let broker = try MQTTBroker(.mosquitto)
    try broker.read()
    let folder = try TemporaryFolder()
    let publisher = try publish(
      to: broker, state: folder, mount: "mount -t tmpfs -o size=24k,mode=700 none '\(folder.path)'")
    try eventually(broker.numbers.count) { $0 == 1 }
    try broker.stop()
    let sentence = "no room is left in '\(folder.path)/netwatch/mqtt'; lines for the broker wait in memory"
    let isFull = { errors.contains(sentence) ? 1_000 : 0 }
    let stored = {
      let text = try? String(
        contentsOfFile: "/proc/\(publisher.pid)/root\(folder.path)/netwatch/mqtt/spool", encoding: .utf8)
      return text?.split(separator: "\n").count ?? 0
    }
    while isFull() == 0 { try change(broker, times: 2) { max(stored(), isFull()) } }
    for number in 1...20 {
      try broker.network.configure("addr add 10.0.0.\(number + 50)/24 dev v0", "route add default via 10.0.0.2")
      try broker.network.configure("addr del 10.0.0.\(number + 50)/24 dev v0")
    }
    try broker.network.configure("addr add 10.0.0.77/24 dev v0", "route add default via 10.0.0.2")
    try broker.start()
    try eventually(broker.messages) { messages in
      messages.contains { "\($0.payload)".contains("10.0.0.77") }
    }
    #expect(isWhole(broker.numbers.values.first ?? []))
    try end(publisher)
  }

  @Test func `a follower that hangs is started again, and its lines go on`() throws {
    let broker = try MQTTBroker(.mosquitto)
    try broker.read()
    let publisher = try publish(to: broker, ["--silence", "15"])
    let come = { broker.numbers.values.first?.count ?? 0 }
    try eventually(come()) { $0 == 1 }
    kill(try #require(publisher.children.first), SIGSTOP)
    try eventually(come()) { $0 == 2 }
    #expect(errors.contains("netwatch --follow gives no sign of life; starting it again"))
    try change(broker, times: 2, come)
    #expect(isWhole(broker.numbers.values.first ?? []))
    try end(publisher)
  }

  @Test func `the late will of an earlier run does not stay`() throws {
    let broker = try MQTTBroker(.mosquitto)
    try broker.read()
    let first = try publish(to: broker, ["--silence", "15"])
    try eventually(broker.presence) { $0 == ["online"] }
    // The broker does not learn that it is gone: its machine has lost its power.
    first.signal(SIGSTOP)
    let restarted = try copyOfState()
    let next = try publish(to: broker, ["--silence", "15"], state: restarted)
    try eventually(broker.presence) { $0 == ["online", "online", "lost", "online"] }
    first.signal(SIGCONT)
    try end(first, next)
  }

  // MARK: Identities

  private func copyOfState() throws -> TemporaryFolder {
    let copy = try TemporaryFolder()
    try copy.makeFolder("netwatch/mqtt")
    for folder in ["netwatch", "netwatch/mqtt"] { _ = unsafe chmod(copy.file(folder), 0o700) }
    try copy.write(state.text(of: "netwatch/mqtt/instance"), to: "netwatch/mqtt/instance")
    return copy
  }

  @Test func `an identity stays, and a machine with another machine-id gets another one`() throws {
    func id(_ arguments: String..., machine: String? = nil) throws -> (id: String, error: String) {
      let script =
        machine.map { "echo \($0) >'\(state.file("id"))' && mount --bind '\(state.file("id"))' /etc/machine-id;" } ?? ""
      let result = try ChildProcess.run(
        [
          "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", "\(script) exec \"$@\"", "sh",
          Programs.netwatch, "mqtt",
        ]
          + arguments, environment: ["XDG_STATE_HOME=\(state.path)"])
      return (result.output.first ?? "", result.error)
    }
    let (one, other) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210")
    let first = try id("--show-id", machine: one).id
    #expect(first.wholeMatch(of: #/[0-9a-f]{16}-[0-9a-f]{16}/#) != nil && !first.contains("0123456789abcdef"))
    #expect(try id("--show-id", machine: one).id == first)
    let copy = try id("--show-id", machine: other).id
    #expect(copy != first && copy.prefix(16) != first.prefix(16))
    let new = try id("--new-id", machine: other).id
    #expect(new != copy && new.prefix(16) == copy.prefix(16))
    #expect(try id("--show-id", machine: other).id == new)
  }

  @Test func `root sees the identity that the unit has, before and after its first start`() throws {
    let result = try ChildProcess.run([
      "unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
      """
      mount -t tmpfs -o mode=755 none /var/lib; unset XDG_STATE_HOME
      "$1" mqtt --show-id; STATE_DIRECTORY=/var/lib/netwatch-mqtt "$1" mqtt --show-id
      "$1" mqtt --new-id; STATE_DIRECTORY=/var/lib/netwatch-mqtt "$1" mqtt --show-id
      """, "sh", Programs.netwatch,
    ])
    let ids = result.output
    #expect(ids.count == 4 && ids[0] == ids[1] && ids[2] == ids[3] && ids[1] != ids[2], "\(result)")
  }

  @Test func `two copies of a machine do not throw each other off, and a third program of one is refused`() throws {
    let broker = try MQTTBroker(.mosquitto)
    try broker.read()
    let publisher = try publish(to: broker)
    try eventually(broker.presence) { $0 == ["online"] }
    let again = try publish(to: broker)
    #expect(try again.wait() == .exited(2))
    #expect(errors == "netwatch: another netwatch mqtt speaks for this machine; end it first\n")
    let copy = try copyOfState()
    let other = try publish(to: broker, state: copy)
    try eventually(broker.numbers.count) { $0 == 2 }
    try change(broker, times: 3) { broker.numbers.values.map(\.count).min() ?? 0 }
    #expect(broker.numbers.values.allSatisfy { isWhole($0) } && broker.presence == ["online", "online"])
    #expect(Set(broker.messages.map { $0.topic.split(separator: "/")[2] }).count == 1)
    try end(publisher, other)
  }

  // MARK: Security

  @Test func `a login and TLS are needed, and a machine writes only its own topics`() throws {
    let certificates = try ServerCertificates().folder
    let passwords = try TemporaryFolder()
    let id =
      try ChildProcess.run(
        [Programs.netwatch, "mqtt", "--show-id"], environment: ["XDG_STATE_HOME=\(state.path)"]
      ).output.first ?? ""
    try passwords.write("", to: "logins")
    for (name, password) in [(id, "open sesame"), ("reader", "r"), ("0123456789abcdef-0123456789abcdef", "other")] {
      let made = try ChildProcess.run(["mosquitto_passwd", "-b", passwords.file("logins"), name, password])
      try #require(made.ending == .exited(0), "\(made.error)")
    }
    try passwords.write("user reader\ntopic read netwatch/#\npattern write netwatch/1/%u/+\n", to: "rights")
    let broker = try MQTTBroker(
      .mosquitto,
      """
      listener 8883 127.0.0.1
      cafile \(certificates.file("root.pem"))
      certfile \(certificates.file("leaf.pem"))
      keyfile \(certificates.file("leaf.key"))
      password_file \(passwords.file("logins"))
      acl_file \(passwords.file("rights"))
      """)
    let root = certificates.file("root.pem")
    try broker.read("-p", "8883", "--cafile", root, "-u", "reader", "-P", "r")
    let file = try passwords.write("open sesame\n", to: "password").path
    let url = "mqtts://127.0.0.1"
    // A wrong password, no trusted authority, and somebody else's name.
    let wrong = try passwords.write("wrong\n", to: "wrong").path
    for (arguments, sentence) in [
      (["--ca", root, "--password-file", wrong], "the broker refuses the login \(id), or its password; trying"),
      (["--password-file", file], "certificate verify failed; is its authority in --ca, and the broker's name in it?"),
      (["--ca", certificates.file("other.pem"), "--password-file", file], "certificate"),
    ] {
      let refused = try publish(to: broker, arguments, url: url)
      try eventually(errors) { $0.contains(sentence) }
      try end(refused)
      try state.write("", to: "errors")
    }
    let other = try passwords.write("other\n", to: "other").path
    let thief = try publish(
      to: broker, ["--ca", root, "--user", "0123456789abcdef-0123456789abcdef", "--password-file", other], url: url)
    // The broker takes what the thief may not write, and gives it to nobody.
    try eventually(state.text(of: "netwatch/mqtt/spool")) { $0.isEmpty }
    try end(thief)
    let publisher = try publish(to: broker, ["--ca", root, "--password-file", file], url: url)
    let messages = try eventually(broker.messages) { $0.contains { $0.kind == "line" } }
    #expect(
      messages.first?.payload["online"] as? Bool == true && broker.numbers.count == 1, "the thief wrote something")
    try end(publisher)
  }

  @Test(
    arguments: [
      (
        [],
        "Name the broker, such as netwatch mqtt mqtts://broker.example.org; the unit has it in /etc/netwatch/mqtt.conf."
      ),
      (["mqtt://"], "Write the broker as mqtts://HOST or mqtts://HOST:PORT."),
      (["http://a"], "Write the broker as mqtts://HOST or mqtts://HOST:PORT."),
      (["a:0"], "Write a port from 1 to 65535"), (["a", "--silence", "5"], "a whole number from 15 to 86400"),
      (["a", "--label", "x"], "write a label as name=value"), (["a", "--certificate", "x"], "give both"),
      (["a", "--keep", "1"], "a number from 100 to 100000"),
      (["mqtt://a", "--ca", "/x"], "mqtt:// encrypts nothing"),
    ])
  func `a mistake gets a sentence`(_ arguments: [String], _ sentence: String) throws {
    let result = try ChildProcess.run(
      [Programs.netwatch, "mqtt"] + arguments, environment: ["XDG_STATE_HOME=\(state.path)"])
    #expect(result.ending == .exited(64) && result.error.contains(sentence), "\(result.error)")
  }

  @Test func `a password does not leave the machine in the clear`() throws {
    let file = try state.write("x\n", to: "password").path
    let result = try ChildProcess.run(
      [Programs.netwatch, "mqtt", "mqtt://192.0.2.1", "--password-file", file],
      environment: ["XDG_STATE_HOME=\(state.path)"])
    #expect(result.ending == .exited(64))
    #expect(result.error.contains("mqtt:// would send the password in the clear; write mqtts://192.0.2.1."))
  }
}
