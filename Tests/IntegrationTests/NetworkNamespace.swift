import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// A network namespace for a test, and a shell that runs in it. The namespace ends with this object.
///
/// A test has to run as root or be allowed to create user namespaces. If neither is permitted, the test fails and says
/// so. It is not skipped, because nobody would notice that.
final class NetworkNamespace {
  private let shell: ChildProcess
  let pid: pid_t
  private let hasSysfs: Bool
  /// Whether the network namespace belongs to a user namespace other than that of the test, as it does in a container
  /// without privileges.
  private let isContained: Bool
  static let isRoot = geteuid() == 0
  /// Returns whether the kernel is at least this version of Linux.
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
  ///   - withSysfs: Whether programs in the namespace see its devices in /sys. Only root may mount that. Otherwise
  ///     programs see the /sys of the test, with other devices.
  ///   - isContained: Whether the namespace has a user namespace of its own even if the test runs as root.
  ///   - neighbour: A namespace with which links are exchanged. Without root, the kernel permits that only between
  ///     namespaces of one user namespace, so the new namespace belongs to the user namespace of its neighbour.
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

  /// Returns a command that runs a program in this namespace.
  func command(_ arguments: [String]) -> [String] {
    let user = isContained ? ["--user", "--preserve-credentials"] : []
    return ["nsenter", "--target", "\(pid)"] + user + ["--net"] + (hasSysfs ? ["--mount"] : []) + ["--"] + arguments
  }

  /// Runs shell commands in this namespace, one after the other, until one fails.
  ///
  /// - Throws: A `TestFailure` with the command that has failed, its exit status and its output.
  func run(_ commands: String..., at place: SourceLocation = #_sourceLocation) throws {
    // The shell reads commands from its standard input, so each command gets another one. The shell then prints a line
    // that begins as no line of a command does.
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

  /// Runs commands of ip(8) in this namespace, in one process. Each line is what would follow `ip` on a command line.
  func configure(_ lines: String..., at place: SourceLocation = #_sourceLocation) throws {
    try run("ip -batch - <<'end of lines'\n\(lines.joined(separator: "\n"))\nend of lines", at: place)
  }

  /// Shell commands that create a further network namespace: that of the process `$pid`, which lasts for 60 seconds.
  static let makeAnother =
    "unshare --net sleep 60 & pid=$!; until [ \"$(readlink /proc/$pid/ns/net)\" != \"$(readlink /proc/$$/ns/net)\" ]; "
    + "do sleep 0.01; done"

  /// Creates a namespace with a veth pair. The link v0 has carrier while v1 is up.
  static func withPair(withSysfs: Bool = false) throws -> NetworkNamespace {
    let namespace = try NetworkNamespace(withSysfs: withSysfs)
    try namespace.configure("link add v0 type veth peer name v1", "link set v1 up", "link set v0 up")
    return namespace
  }

  /// Creates a namespace with a veth pair, whose link v0 has 10.0.0.1 and a default route by 10.0.0.2.
  static func online() throws -> NetworkNamespace {
    let namespace = try NetworkNamespace()
    try namespace.configure(
      "link add v0 type veth peer name v1", "link set v1 up", "link set v0 up", "addr add 10.0.0.1/24 dev v0",
      "route add default via 10.0.0.2")
    return namespace
  }

  /// Waits until the kernel has checked that no other machine has the IPv6 addresses (duplicate address detection). The
  /// kernel reports the end of that check one or two seconds after a link is up.
  func waitUntilAddressesAreChecked() throws {
    try run("while ip -6 addr | grep -q tentative; do sleep 0.02; done")
  }

  /// Adds w0, which has carrier while w1 is up, with 10.1.0.1 and a default route of metric 600. The route of
  /// ``online()`` has precedence over it.
  func addSecondUplink() throws {
    try configure(
      "link add w0 type veth peer name w1", "link set w1 up", "link set w0 up", "addr add 10.1.0.1/24 dev w0",
      "route add default via 10.1.0.2 metric 600")
    try waitUntilRunning("w0")
  }

  /// Makes the kernel check the neighbours of a link in at most a tenth of the usual times.
  func hurryNeighbours(on link: String) throws {
    for table in ["arp_cache", "ndisc_cache"] {
      try run("ip ntable change name \(table) dev \(link) base_reachable 1000 delay_probe 200 retrans 100")
    }
  }

  /// Sends a datagram to a port at which nobody listens.
  func send(to address: String) throws { try run("'\(Programs.probe)' datagrams \(address) - 1 1") }

  /// Starts a process that sends ten datagrams a second, to a port at which nobody listens, until the process ends.
  func keepSending(to address: String) throws -> ChildProcess {
    try ChildProcess(command([Programs.probe, "datagrams", address, "-", "0", "1"]))
  }

  /// Sends a router advertisement over a link. It has a default route and the prefix 2a02:9::/64.
  ///
  /// - Parameters:
  ///   - lifetime: The time in seconds for which the default route lasts.
  ///   - portal: The URI of the captive portal's API. Default: none.
  ///   - options: Further options, such as `server=fd00::2` for a name server, or `prefix=64:ff9b::,0,600` for NAT64.
  func advertise(from link: String, lifetime: Int, portal: String? = nil, options: String = "") throws {
    // Receivers drop advertisements that do not come from a link-local address. The kernel adds that after the carrier, and uses it
    // when it has checked it.
    try run(
      "until ip -6 addr show dev \(link) scope link | grep inet6 | grep -qv tentative; do sleep 0.02; done",
      "'\(Programs.probe)' advertise \(link) \(lifetime) \(portal.map { "'uri=\($0)'" } ?? "") \(options)")
  }

  /// Creates a tun device with the address 10.8.`number`.2. The device works until the program that is returned ends.
  func addTunnel(_ name: String, _ number: Int = 0) throws -> ChildProcess {
    let program = try ChildProcess(command([Programs.probe, "tunnel", name]))
    guard try program.nextLine() == "open" else { throw TestFailure("no tunnel: \(try program.errorText())") }
    try configure("link set \(name) up", "addr add 10.8.\(number).2/24 dev \(name)")
    try waitUntilRunning(name)
    return program
  }

  /// The identity of the network namespace, in the form that a line of a service has.
  var identity: String {
    var status = stat()
    _ = unsafe stat("/proc/\(pid)/ns/net", &status)
    return "{\"device\":\(status.st_dev),\"inode\":\(status.st_ino)}"
  }

  /// Waits until the kernel reports that a link runs. A link that is switched on gets its carrier a moment later.
  func waitUntilRunning(_ link: String) throws {
    try run(
      "until case \"$(ip -br link show dev \(link) up)\" in *NO-CARRIER*) false;; *\" UP \"*|*UNKNOWN*) true;; *) false;; "
        + "esac; do sleep 0.01; done")
  }

  /// Waits until the kernel reports that the lower device of a link has no carrier. The kernel passes this on later, at
  /// most once a second. Until then it reports that the upper device runs.
  func waitUntilLowerLinkIsDown(_ link: String) throws {
    try run("until ip -br link show dev \(link) up | grep -q LOWERLAYERDOWN; do sleep 0.01; done")
  }

  /// Sends datagrams over a link to a neighbour that no machine is. The kernel is given a link address for the
  /// neighbour, so that the datagrams leave.
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

  /// Starts `netwatch --follow` without `--record`, even in the guest. While netwatch records, it asks the kernel by
  /// netlink only.
  func followUnrecorded(_ arguments: String...) throws -> Follow {
    try Follow(ChildProcess(command(Programs.follow(arguments))))
  }

  /// Starts `netwatch --follow` as an ordinary user if the test runs as root. A user namespace has no ordinary user.
  func followAsNobody(from folder: TemporaryFolder, _ arguments: String...) throws -> Follow {
    let program = try folder.install(Programs.netwatch)
    let user = Self.isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] : []
    return try Follow(ChildProcess(command(user + [program, "--follow", "--json"] + arguments)))
  }
}

/// The paths of programs that are built together with the tests.
enum Programs {
  static let folder: String = {
    // The test bundle is in the folder of the programs.
    let path = CommandLine.arguments.first { $0.contains(".build") } ?? CommandLine.arguments[0]
    var target = [CChar](repeating: 0, count: 4096)
    let count = unsafe readlink("/proc/self/exe", &target, target.count)
    let own = String(decoding: target[..<max(0, count)].map(UInt8.init(bitPattern:)), as: UTF8.self)
    let best = own.contains(".build") ? own : path
    return String(best[..<(best.lastIndex(of: "/") ?? best.startIndex)])
  }()
  static var netwatch: String { "\(folder)/netwatch" }

  /// The command of a program that uses libnetwatch. The program replaces `netwatch --follow` in tests whose options
  /// the library has. Default: none.
  static let follower = ProcessInfo.processInfo.environment["NETWATCH_TEST_FOLLOWER"]

  static func follow(_ options: [String]) -> [String] {
    guard let follower, let words = libraryOptions(options) else { return [netwatch, "--follow", "--json"] + options }
    return follower.split(separator: " ").map(String.init) + words
  }

  /// Returns options of netwatch as words for ``follower``, or nil if the library does not have one of them.
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
  static var probe: String { "\(folder)/NetwatchProbe" }
  static var netwatchHTTP: String { "\(folder)/netwatch-http" }
  static var httpProbe: String { "\(folder)/HTTPProbe" }
  static var sandbox: String { "\(folder)/TestSandbox" }
  /// Copies netwatch to a place that any user can reach, and returns the path. The build may be in a home folder that
  /// is closed to other users.
  static func copyForEverybody() throws -> String {
    let path = "/tmp/netwatch-test-\(getpid())"
    let copied = try ChildProcess.run(["install", "-m", "755", netwatch, path])
    guard copied.ending == .exited(0) else { throw TestFailure("cannot copy netwatch: \(copied.error)") }
    return path
  }

  static var readmeExample: String { "\(folder)/ReadmeExample" }
  static var readmeHTTPExample: String { "\(folder)/ReadmeHTTPExample" }
}
