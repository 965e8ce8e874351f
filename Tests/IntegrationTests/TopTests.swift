import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// `netwatch top`, compared with transfers whose payload is known.
@Suite struct TopTests {
  /// A line of `netwatch top --json`.
  private struct TopLine {
    let object: [String: Any]

    init(_ text: String) throws {
      keepLine(text, of: "top")
      object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    /// Returns the received and the sent bytes of the program with this name; if `name` is nil, of programs without a
    /// name.
    func bytes(_ name: String?) -> [Int]? {
      let programs = object["programs"] as? [[String: Any]]
      return programs?.first { $0["name"] as? String == name }.map(Self.bytes)
    }

    var shortLived: [Int] { Self.bytes(object["short_lived"] as? [String: Any] ?? [:]) }
    var other: [Int]? { (object["other"] as? [String: Any]).map(Self.bytes) }

    private static func bytes(_ object: [String: Any]) -> [Int] {
      ["rx_bytes", "tx_bytes"].map { object[$0] as? Int ?? -1 }
    }
  }

  /// Returns the next line that fulfils a condition. Fails after 30 seconds.
  private static func line(of top: ChildProcess, _ isWanted: (TopLine) -> Bool) throws -> TopLine {
    let deadline = Deadline(30)
    while let text = try top.nextLine() {
      let line = try TopLine(text)
      if isWanted(line) { return line }
      guard !deadline.isOver else { throw TestFailure("the time is over, and nothing showed \(text)") }
    }
    throw TestFailure("netwatch has ended: \(try top.errorText())")
  }

  @Test func `a program's bytes are those that it has transferred`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    try networks.far.run("head -c 1000000 /dev/zero >'\(folder.file("file"))'")
    let server = try networks.nginx(folder, bytesPerSecond: 400_000)
    let top = try networks.near.netwatch("top", "--json")
    _ = try Self.line(of: top) { _ in true }
    let client = try networks.start(
      "curl", "-s", "-o", "/dev/null", "-w", "%{size_header} %{size_request}\n", "http://10.0.0.2:8080/file")
    let during = try Self.line(of: top) { $0.bytes("curl")?[0] ?? 0 > 100_000 }
    #expect(during.object["overruns"] as? Int == 0)
    let sizes = try #require(try client.nextLine()).split(separator: " ").compactMap { Int($0) }
    #expect(try client.wait() == .exited(0))
    let expected = [1_000_000 + sizes[0], sizes[1]]
    let after = try Self.line(of: top) { $0.bytes("curl") == expected }
    #expect(after.shortLived == [0, 0])
    // These are the headers of about a thousand packets.
    #expect(after.other.map { $0[0] > 1_000 && $0[0] < 200_000 } == true, "\(after.object)")
    withExtendedLifetime(server) {}
  }

  @Test func `an ordinary user sees other users as rows without a name`() throws {
    guard NetworkNamespace.isRoot else { return }
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    try networks.far.run("head -c 1000000 /dev/zero >'\(folder.file("file"))'")
    let server = try networks.nginx(folder, bytesPerSecond: 300_000)
    let program = try folder.install(Programs.netwatch)
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    let top = try ChildProcess(networks.near.command(nobody + [program, "top", "--json"]))
    _ = try Self.line(of: top) { _ in true }
    let client = try networks.start("curl", "-s", "-o", "/dev/null", "http://10.0.0.2:8080/file")
    let line = try Self.line(of: top) { $0.bytes(nil)?[0] ?? 0 > 100_000 }
    #expect(line.bytes("curl") == nil)
    #expect((line.object["programs"] as? [[String: Any]])?.first?["uid"] as? Int == 0)
    withExtendedLifetime((server, client)) {}
  }

  @Test func `a program takes another name, and is killed`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    try networks.far.run("head -c 100000 /dev/zero | tr '\\0' a >'\(folder.file("file"))'")
    let server = try networks.nginx(folder, bytesPerSecond: 0)
    let top = try networks.near.netwatch("top", "--json")
    _ = try Self.line(of: top) { _ in true }
    let client = try networks.start(
      "bash", "-c",
      #"""
      ask() { printf 'GET /file HTTP/1.1\r\nHost: a\r\n\r\n' >&$1; read -rN 100000 -u $1 _; }
      printf old >/proc/$$/comm; exec 3<>/dev/tcp/10.0.0.2/8080; ask 3; read _
      printf 'new\033[2J\303' >/proc/$$/comm; exec 4<>/dev/tcp/10.0.0.2/8080; ask 4; ask 3; read _
      ask 3; read _
      """#)
    _ = try Self.line(of: top) { $0.bytes("old")?[0] ?? 0 > 100_000 }
    client.write("\n")
    // All bytes of a process go with it to its new name.
    let new = "new\u{1b}[2J\u{fffd}"
    let renamed = try Self.line(of: top) { $0.bytes(new)?[0] ?? 0 > 300_000 }
    #expect(renamed.bytes("old") == nil)
    client.write("\n")
    _ = try Self.line(of: top) { $0.bytes(new)?[0] ?? 0 > 400_000 }
    let before = try TopLine(try #require(try top.nextLine()))
    client.signal(SIGKILL)
    _ = try client.wait()
    _ = try top.nextLine()
    let after = try TopLine(try #require(try top.nextLine()))
    #expect(after.bytes(new) == before.bytes(new))
    #expect(after.bytes("old") == nil)
    #expect(after.shortLived == [0, 0])
    withExtendedLifetime(server) {}
  }

  @Test func `two processes of one program are two rows, and one unit`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    try networks.far.run("head -c 100000 /dev/zero >'\(folder.file("file"))'")
    let server = try networks.nginx(folder, bytesPerSecond: 50_000)
    let tops = try ["pid", "unit"].map { try networks.near.netwatch("top", "--json", "--by", $0) }
    for top in tops { _ = try Self.line(of: top) { _ in true } }
    let clients = try (0..<2).map { _ in
      try networks.start("curl", "-s", "-o", "/dev/null", "http://10.0.0.2:8080/file")
    }
    func rows(_ line: TopLine) -> [[String: Any]] { line.object["programs"] as? [[String: Any]] ?? [] }
    let processes = try Self.line(of: tops[0]) { rows($0).count { $0["name"] as? String == "curl" } == 2 }
    #expect(Set(rows(processes).compactMap { $0["pid"] as? Int }).count == 2)
    let units = try Self.line(of: tops[1]) { rows($0).contains { $0["unit"] is String } }
    #expect(rows(units).count == 1 && rows(units).allSatisfy { $0["name"] is NSNull })
    withExtendedLifetime((server, clients)) {}
  }

  @Test func `programs in other network namespaces count too, and no namespace is kept`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    try networks.far.run("head -c 1000000 /dev/zero >'\(folder.file("file"))'", "ip route add 10.2.0.0/24 via 10.0.0.1")
    let server = try networks.nginx(folder, bytesPerSecond: 300_000)
    // The shell is the first process that its children see, as on a machine of its own.
    let top = try networks.start(
      "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c",
      """
      '\(Programs.netwatch)' top --json &
      read _; \(NetworkNamespace.makeAnother)
      ip link add c1 type veth peer name c0 netns $pid && ip addr add 10.2.0.1/24 dev c1 && ip link set c1 up
      echo 1 >/proc/sys/net/ipv4/ip_forward
      nsenter --target $pid --net sh -c 'ip addr add 10.2.0.2/24 dev c0; ip link set c0 up
        ip route add default via 10.2.0.1; exec curl -so /dev/null http://10.0.0.2:8080/file'
      read _; kill $pid; wait $pid; read _
      """)
    _ = try Self.line(of: top) { _ in true }
    top.write("\n")
    let line = try Self.line(of: top) { $0.bytes("curl")?[0] ?? 0 > 1_000_000 }
    #expect((line.object["programs"] as? [[String: Any]])?.count == 1)
    #expect(line.shortLived == [0, 0])
    try networks.near.run("ip link show c1")
    top.write("\n")
    let links = networks.near.command(["ip", "-o", "link"])
    try eventually(try ChildProcess.run(links).output) { !$0.contains { $0.contains("c1@") } }
    withExtendedLifetime(server) {}
  }

  @Test func `programs that proc hides are rows without a name`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    try networks.far.run("head -c 1000000 /dev/zero >'\(folder.file("file"))'")
    let server = try networks.nginx(folder, bytesPerSecond: 300_000)
    // A container that uses the network of its host also has a /proc of its own.
    let top = try networks.start(
      "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", Programs.netwatch, "top", "--json")
    _ = try Self.line(of: top) { _ in true }
    let client = try networks.start("curl", "-s", "-o", "/dev/null", "http://10.0.0.2:8080/file")
    let line = try Self.line(of: top) { $0.bytes(nil)?[0] ?? 0 > 100_000 }
    #expect((line.object["programs"] as? [[String: Any]])?.count == 1)
    withExtendedLifetime((server, client)) {}
  }

  @Test func `an ordinary user sees his own programs where proc hides those of others`() throws {
    guard NetworkNamespace.isRoot else { return }
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    try networks.far.run("head -c 1000000 /dev/zero >'\(folder.file("file"))'")
    let server = try networks.nginx(folder, bytesPerSecond: 300_000)
    let program = try folder.install(Programs.netwatch)
    let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    let top = try networks.start(
      "unshare", "--mount", "sh", "-c", "mount -t proc -o hidepid=2 proc /proc && exec \(nobody) \(program) top --json")
    _ = try Self.line(of: top) { _ in true }
    let url = "http://10.0.0.2:8080/file"
    let clients = try networks.start(
      "sh", "-c", "curl -so /dev/null \(url) & \(nobody) curl -so /dev/null \(url); wait")
    let line = try Self.line(of: top) { $0.bytes(nil)?[0] ?? 0 > 100_000 && $0.bytes("curl")?[0] ?? 0 > 100_000 }
    #expect((line.object["programs"] as? [[String: Any]])?.count == 2)
    withExtendedLifetime((server, clients)) {}
  }

  @Test(arguments: [[], ["--once"], ["--format", "text"]])
  func `what the kernel refuses is said in a sentence`(_ options: [String]) throws {
    let result = try ChildProcess.run([Programs.sandbox, "sockdiag", Programs.netwatch, "top"] + options)
    #expect(result.ending == .exited(2))
    #expect(result.output == [])
    #expect(
      result.error.hasPrefix(
        "netwatch: netlink is not permitted here (socket(AF_NETLINK): Operation not permitted); allow"))
    #expect(result.error.split(separator: "\n").count == 1)
  }

  @Test func `connections within the machine are left out`() throws {
    let namespace = try NetworkNamespace.online()
    let folder = try TemporaryFolder()
    try namespace.run("head -c 100000 /dev/zero >'\(folder.file("file"))'")
    let server = try ChildProcess(
      namespace.command(["python3", "-m", "http.server", "--directory", folder.path, "8080"]))
    try namespace.run("until ss -Hltn | grep -q :8080; do sleep 0.02; done")
    let top = try namespace.netwatch("top", "--json")
    _ = try top.nextLine()
    for host in ["127.0.0.1", "10.0.0.1"] { try namespace.run("curl -sf -o /dev/null http://\(host):8080/file") }
    _ = try top.nextLine()
    let line = try TopLine(try #require(try top.nextLine()))
    #expect(line.shortLived == [0, 0])
    #expect(line.bytes("curl") == nil)
    withExtendedLifetime(server) {}
  }

  @Test func `once prints the figures of one second, as JSON or as a table`() throws {
    let namespace = try NetworkNamespace.online()
    let json = try ChildProcess.run(namespace.command([Programs.netwatch, "top", "--once", "--json"]))
    #expect(json.ending == .exited(0))
    #expect(json.output.count == 1)
    #expect(try TopLine(json.output[0]).shortLived == [0, 0])
    let text = try ChildProcess.run(namespace.command([Programs.netwatch, "top", "--once"]))
    #expect(text.ending == .exited(0))
    #expect(text.output.first?.hasPrefix("PROGRAM") == true)
    #expect(text.output.count == 3)
    let bytes = try ChildProcess.run(
      namespace.command([Programs.netwatch, "top", "--once", "--format", "text", "--units", "bytes", "--sort", "sent"]))
    #expect(bytes.ending == .exited(0))
    #expect(bytes.output.first?.contains("RX B/s  TX B/s  RX B  TX B") == true)
  }

  @Test func `it ends when its reader is gone`() throws {
    let namespace = try NetworkNamespace.online()
    let top = try namespace.netwatch("top", "--json")
    _ = try top.nextLine()
    top.closeOutput()
    #expect(try top.wait() == .exited(0))
    #expect(try top.errorText() == "")
  }

  @Test(arguments: [
    (["top", "--follow"], "--follow works only without a command; leave out top."),
    (["top", "--interfaces"], "top does nothing with --interfaces; leave it out."),
    (["top", "--traffic"], "top does nothing with --traffic; leave it out."),
    (["top", "--format", "waybar"], "top is too long for a bar; give --format text or --format json."),
    (["top", "--sort", "size"], "the possible values are all, received, sent, connections, name."),
    (["top", "--units", "nibbles"], "the possible values are bits, bytes."),
    (["top", "--json", "--sort", "name"], "--sort belongs to text; give --format text."),
    (["top", "--once", "--json", "--units", "bytes"], "--units belongs to text; give --format text."),
    (["status", "--units", "bytes"], "--units belongs to --follow; use netwatch -f."),
    (["top", "--json", "--format", "text"], "--json and --format text contradict each other; give one."),
  ])
  func `a mistake gets a sentence`(_ arguments: [String], _ sentence: String) throws {
    let answer = try ChildProcess.run([Programs.netwatch] + arguments)
    #expect(answer.ending == .exited(64))
    #expect(answer.error.contains(sentence), "\(answer.error)")
  }
}
