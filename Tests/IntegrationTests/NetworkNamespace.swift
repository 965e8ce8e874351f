import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// A network namespace of the test's own, and a shell in it. It goes when the test does.
///
/// As root, or with user namespaces. Where neither is permitted a test fails and says so: skipping would hide it.
final class NetworkNamespace {
  private let shell: ChildProcess
  let pid: pid_t
  private let hasSysfs: Bool
  /// It belongs to a user namespace of its own, as that of a container without privileges does.
  private let isContained: Bool
  static let isRoot = geteuid() == 0
  /// Returns whether the kernel is this Linux or a newer one.
  static func isLinux(_ major: Int, _ minor: Int) -> Bool {
    var facts = utsname()
    guard unsafe uname(&facts) == 0 else { return false }
    let release = unsafe withUnsafeBytes(of: facts.release) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
    return !numbers.lexicographicallyPrecedes([major, minor])
  }

  /// - Parameters:
  ///   - withSysfs: as root alone. Else programs in here see that of the test, with other devices.
  ///   - isContained: in a user namespace of its own, also as root.
  ///   - neighbour: one that links are moved to and from; without privilege, both must be the same user's.
  init(withSysfs: Bool = false, isContained: Bool = false, beside neighbour: NetworkNamespace? = nil) throws {
    self.isContained = isContained || !Self.isRoot
    let own = self.isContained && neighbour == nil ? ["--user", "--map-root-user"] : []
    let unshare = ["unshare"] + own + ["--net"] + (withSysfs ? ["--mount"] : []) + ["sh"]
    hasSysfs = withSysfs
    shell = try ChildProcess(neighbour?.command(unshare) ?? unshare)
    if withSysfs { shell.write("mount -t sysfs sysfs /sys || exit\n") }
    shell.write("ip link set lo up && echo $$\n")
    guard let line = try shell.nextLine(), let pid = pid_t(line) else {
      throw TestFailure(
        "cannot make a network namespace (be root, or permit user namespaces): \(try shell.errorText())")
    }
    self.pid = pid
  }

  /// The command to run a program in here.
  func command(_ arguments: [String]) -> [String] {
    let user = isContained ? ["--user", "--preserve-credentials"] : []
    return ["nsenter", "--target", "\(pid)"] + user + ["--net"] + (hasSysfs ? ["--mount"] : []) + ["--"] + arguments
  }

  /// Runs shell commands in here, one after the other; the first failure fails the test.
  func run(_ commands: String..., at place: SourceLocation = #_sourceLocation) throws {
    // The shell reads its commands from its input, which is not theirs. It answers with a line that no command writes.
    let chain = commands.enumerated().map { number, command in "{ \(command)\n} </dev/null 2>&1 && ended=\(number + 1)"
    }
    shell.write("ended=0; \(chain.joined(separator: " && ")); printf '\\n\\001 %s %s\\n' $? $ended\n")
    var said: [String] = []
    while let line = try shell.nextLine(within: 30, at: place) {
      guard line.hasPrefix("\u{1} ") else {
        said.append(line)
        continue
      }
      let numbers = line.split(separator: " ").dropFirst().compactMap { Int($0) }
      guard numbers.count == 2, numbers[1] < commands.count else { return }
      throw TestFailure(
        "\(place.fileID):\(place.line): \(commands[numbers[1]]): exit status \(numbers[0]) \(said.joined(separator: " "))"
      )
    }
    throw TestFailure("\(place.fileID):\(place.line): the shell has ended at \(commands)")
  }

  /// Runs commands of ip(8) in here, in one process. A line is what would come after `ip`.
  func configure(_ lines: String..., at place: SourceLocation = #_sourceLocation) throws {
    try run("ip -batch - <<'end of lines'\n\(lines.joined(separator: "\n"))\nend of lines", at: place)
  }

  /// Shell commands that make a network namespace more, that of the process `$pid`.
  static let makeAnother =
    "unshare --net sleep 60 & pid=$!; until [ \"$(readlink /proc/$pid/ns/net)\" != \"$(readlink /proc/$$/ns/net)\" ]; "
    + "do sleep 0.01; done"

  /// A veth pair: v0, with carrier as long as v1 is up.
  static func withPair(withSysfs: Bool = false) throws -> NetworkNamespace {
    let namespace = try NetworkNamespace(withSysfs: withSysfs)
    try namespace.configure("link add v0 type veth peer name v1", "link set v1 up", "link set v0 up")
    return namespace
  }

  /// The same with an IPv4 address and a default route.
  static func online() throws -> NetworkNamespace {
    let namespace = try NetworkNamespace()
    try namespace.configure(
      "link add v0 type veth peer name v1", "link set v1 up", "link set v0 up", "addr add 10.0.0.1/24 dev v0",
      "route add default via 10.0.0.2")
    return namespace
  }

  /// Returns when the kernel has checked that no other machine has the IPv6 addresses: it tells of the end of that check
  /// one or two seconds after a link is up.
  func waitUntilAddressesAreChecked() throws {
    try run("while ip -6 addr | grep -q tentative; do sleep 0.02; done")
  }

  /// w0, with carrier as long as w1 is up, an address, and a default route that is second to the one of ``online()``.
  func addSecondUplink() throws {
    try configure(
      "link add w0 type veth peer name w1", "link set w1 up", "link set w0 up", "addr add 10.1.0.1/24 dev w0",
      "route add default via 10.1.0.2 metric 600")
    try waitUntilRunning("w0")
  }

  /// The kernel asks for neighbours in tenths of the usual times, and faster.
  func hurryNeighbours(on link: String) throws {
    for table in ["arp_cache", "ndisc_cache"] {
      try run("ip ntable change name \(table) dev \(link) base_reachable 1000 delay_probe 200 retrans 100")
    }
  }

  /// Sends a datagram that nobody waits for.
  func send(to address: String) throws { try run("'\(Programs.probe)' datagrams \(address) - 1 1") }

  /// Sends such datagrams until it is ended.
  func keepSending(to address: String) throws -> ChildProcess {
    try ChildProcess(command([Programs.probe, "datagrams", address, "-", "0", "1"]))
  }

  /// Sends a router advertisement from a link: a default route that lasts so many seconds, and the prefix 2a02:9::/64.
  func advertise(from link: String, lifetime: Int) throws {
    try run("'\(Programs.probe)' advertise \(link) \(lifetime)")
  }

  /// A tun device with an address, 10.8.`number`.2, that works until its program ends.
  func addTunnel(_ name: String, _ number: Int = 0) throws -> ChildProcess {
    let program = try ChildProcess(command([Programs.probe, "tunnel", name]))
    guard try program.nextLine() == "open" else { throw TestFailure("no tunnel: \(try program.errorText())") }
    try configure("link set \(name) up", "addr add 10.8.\(number).2/24 dev \(name)")
    try waitUntilRunning(name)
    return program
  }

  /// A link that was switched on has its carrier a moment later.
  func waitUntilRunning(_ link: String) throws {
    try run(
      "until case \"$(ip -br link show dev \(link) up)\" in *NO-CARRIER*) false;; *\" UP \"*|*UNKNOWN*) true;; *) false;; "
        + "esac; do sleep 0.01; done")
  }

  /// The kernel tells a link that stands on another one of its carrier later, at most once a second: until then it is
  /// said to run.
  func waitUntilLowerLinkIsDown(_ link: String) throws {
    try run("until ip -br link show dev \(link) up | grep -q LOWERLAYERDOWN; do sleep 0.01; done")
  }

  /// Sends datagrams to a neighbour that nobody is, over a link. The kernel is told his link address, so that they go out.
  func send(_ count: Int = 1, bytes: Int = 1, to neighbour: String, over link: String) throws {
    try configure("neigh replace \(neighbour) lladdr 02:00:00:00:00:02 dev \(link) nud permanent")
    try run("'\(Programs.probe)' datagrams \(neighbour) \(link) \(count) \(bytes)")
  }

  // MARK: netwatch in here

  func netwatch(_ arguments: String..., environment: [String] = []) throws -> ChildProcess {
    try ChildProcess(command([Programs.netwatch] + arguments), environment: environment)
  }

  func follow(_ arguments: String...) throws -> Follow {
    let trace = Guest.isHere && !arguments.contains("--record") ? Follow.newTrace() : nil
    let recording = trace.map { ["--record", $0] } ?? []
    let process = try ChildProcess(command(Programs.follow(arguments + recording)))
    return Follow(process, trace: trace)
  }

  /// Follows without a trace in the guest, too. A recording asks the kernel by netlink alone.
  func followUnrecorded() throws -> Follow { try Follow(ChildProcess(command(Programs.follow([])))) }

  /// Follows as an ordinary user if this process may become one; a user namespace has none.
  func followAsNobody(from folder: TemporaryFolder, _ arguments: String...) throws -> Follow {
    let program = try folder.install(Programs.netwatch)
    let user = Self.isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] : []
    return try Follow(ChildProcess(command(user + [program, "--follow", "--json"] + arguments)))
  }
}

/// Programs that are built beside the tests.
enum Programs {
  static let folder: String = {
    // The test bundle lies where the programs do.
    let path = CommandLine.arguments.first { $0.contains(".build") } ?? CommandLine.arguments[0]
    var target = [CChar](repeating: 0, count: 4096)
    let count = unsafe readlink("/proc/self/exe", &target, target.count)
    let own = String(decoding: target[..<max(0, count)].map(UInt8.init(bitPattern:)), as: UTF8.self)
    let best = own.contains(".build") ? own : path
    return String(best[..<(best.lastIndex(of: "/") ?? best.startIndex)])
  }()
  static var netwatch: String { "\(folder)/netwatch" }

  /// A program that stands on libnetwatch, and is followed in the place of `netwatch --follow` where it has the options.
  static let follower = ProcessInfo.processInfo.environment["NETWATCH_TEST_FOLLOWER"]

  static func follow(_ options: [String]) -> [String] {
    guard let follower, let words = libraryOptions(options) else { return [netwatch, "--follow", "--json"] + options }
    return follower.split(separator: " ").map(String.init) + words
  }

  /// Nil if the library does not have one of them.
  private static func libraryOptions(_ options: [String]) -> [String]? {
    let flags = ["--interfaces", "--no-service"]
    let names = [
      "--target": "target", "-i": "interface", "--interface": "interface", "--ignore": "ignore", "--wwan": "wwan",
      "--tunnel": "tunnel", "--hold": "hold", "--activity": "activity", "--activity-ignore": "activity-ignore",
      "--activity-interval": "activity-interval", "--activity-patience": "activity-patience",
    ]
    var (words, rest): ([String], ArraySlice<String>) = ([], options[...])
    while let option = rest.popFirst() {
      if flags.contains(option) {
        words.append(String(option.dropFirst(2)))
      } else if let name = names[option], let value = rest.popFirst() {
        words.append("\(name)=\(value)")
      } else {
        return nil
      }
    }
    return words
  }

  static var log: String { "\(folder)/netwatch-log" }
  static var httpHelper: String { "\(folder)/netwatch-http" }
  static var probe: String { "\(folder)/NetwatchProbe" }
  static var netwatchHTTP: String { "\(folder)/netwatch-http" }
  static var httpProbe: String { "\(folder)/HTTPProbe" }
  static var sandbox: String { "\(folder)/TestSandbox" }
  /// A copy that any user can reach: the build may lie in a home that is closed to others.
  static func copyForEverybody() throws -> String {
    let path = "/tmp/netwatch-test-\(getpid())"
    let copied = try ChildProcess.run(["install", "-m", "755", netwatch, path])
    guard copied.ending == .exited(0) else { throw TestFailure("cannot copy netwatch: \(copied.error)") }
    return path
  }

  static var readmeExample: String { "\(folder)/ReadmeExample" }
}
