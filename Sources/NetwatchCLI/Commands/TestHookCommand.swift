import ArgumentParser
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// `netwatch test-hook`: runs a hook once for an example of a line.
struct TestHookCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test-hook", abstract: "Run a hook once with an example of a change.",
    discussion: """
      The file is checked and run as by --hooks, whatever its name is, but its output goes to standard output. Its exit status \
      is printed on standard error and becomes that of netwatch; 2 if the file cannot run.
      """)

  @ParentCommand var root: NetwatchTool

  @Argument(help: ArgumentHelp("The file to run.", valueName: "file"), completion: .file())
  var file: String

  @Option(
    help: ArgumentHelp(
      "Use this status in the example: \(ReachabilityStatus.allCases.map(\.rawValue).joined(separator: ", ")). Default: wifi.",
      valueName: "status"),
    completion: .list(ReachabilityStatus.allCases.map(\.rawValue)), transform: ReachabilityStatus.choice)
  var status = ReachabilityStatus.wifi

  @Option(
    help: ArgumentHelp(
      "Use this name for the WiFi network in the example, at most 32 bytes. Default: Example.", valueName: "name")
  )
  var ssid: String?

  mutating func validate() throws {
    try root.refuseOptions(of: Self.self)
    guard ssid != nil else { return }
    if status != .wifi { throw ValidationError("--ssid works only with --status wifi; leave out --ssid or --status.") }
    if name == nil { throw ValidationError("--ssid takes at most \(SSID.capacity) bytes.") }
  }

  /// The name for the network of the example; nil if it is too long.
  private var name: SSID? {
    guard let ssid else { return SSID("Example".utf8) }
    // A name does not have to be text. In `ssid`, bytes that are not UTF-8 are already replaced by others.
    let words = (0..<Int(CommandLine.argc)).compactMap { place in
      unsafe CommandLine.unsafeArgv[place].map { unsafe Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
    }
    let option = Array("--ssid".utf8)
    let start = Array("--ssid=".utf8)
    let separate = zip(words, words.dropFirst()).filter { $0.0 == option }.map { $0.1 }
    let joined = words.filter { $0.starts(with: start) }.map { Array($0.dropFirst(start.count)) }
    return SSID((separate + joined).last { String(decoding: $0, as: UTF8.self) == ssid } ?? Array(ssid.utf8))
  }

  func run() throws {
    let ending = try PlainError.reporting { () -> ProcessEnding? in
      let file = try HookFile(file)
      let before = EventRecord.example(status == .notReachable ? .wifi : .notReachable)
      let loop = try EventLoop()
      let hooks = try HookRunner(
        HookSettings(), after: HookVariables(before), output: STDOUT_FILENO, reportsFailures: false, on: loop)
      hooks.run(file, for: .example(status, ssid: name))
      try hooks.finish()
      return hooks.ending
    }
    switch ending {
    case .exited(let status):
      StandardError.tell("'\(file)' has ended with exit status \(status)".harmless)
      throw ExitCode(status)
    case .killed(let signal):
      StandardError.tell("'\(file)' was ended by signal \(signal)".harmless)
      throw ExitCode(128 + signal)
    case nil: throw ExitCode(2)
    }
  }
}

extension EventRecord {
  /// Returns an example of a change to a status, with addresses that are reserved for documentation (RFC 5737, RFC 3849).
  static func example(_ status: ReachabilityStatus, ssid: String = "Example") -> EventRecord {
    example(status, ssid: SSID(ssid.utf8))
  }

  fileprivate static func example(_ status: ReachabilityStatus, ssid: SSID?) -> EventRecord {
    var verdict = NetworkPath.Verdict(status: status)
    let reason: ReachabilityReason
    switch status {
    case .unknown: reason = .unresolved
    case .notReachable: reason = .noCarrier
    case .wwan, .wifi:
      let isCellular = status == .wwan
      reason = .routeUp
      verdict.medium = isCellular ? .wwan : .wifi
      verdict.interfaceName = InterfaceName(isCellular ? "wwan0" : "wlan0")
      verdict.interfaceIndex = 3
      verdict.isExpensive = isCellular
      verdict.ssid = isCellular ? nil : ssid
      verdict.ipv4 = .init(address: .v4(0xc000_020a), gateway: .v4(0xc000_0201), interfaceIndex: 3)
      let network: UInt128 = 0x2001_0db8 << 96
      verdict.ipv6 = .init(address: .v6(network | 10), gateway: .v6(0xfe80 << 112 | 1), interfaceIndex: 3)
    }
    var record = EventRecord(
      sequence: 1, nanosecondsSince1970: 0, monotonicNanoseconds: 0, event: .reachability,
      path: NetworkPath(verdict: verdict, reason: reason, interfaces: InterfaceTable()))
    record.setDateToNow()
    return record
  }
}
