import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchStream

/// `netwatch test-hook`: runs a hook once for an example of a line.
struct TestHookCommand {
  let options: ParsedOptions

  /// Returns the name for the network of the example; nil if it is too long.
  ///
  /// - Parameter ssid: The value of `--ssid`; nil for the standard name.
  static func name(_ ssid: String?) -> SSID? {
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

  func run() throws -> ProcessEnding {
    let (path, status) = (options.file, options.exampleStatus)
    let file = try HookFile(path)
    let before = EventRecord.example(status == .notReachable ? .wifi : .notReachable)
    let loop = try EventLoop()
    let hooks = try HookRunner(
      HookSettings(), after: HookVariables(before), output: STDOUT_FILENO, reportsFailures: false, on: loop)
    hooks.run(file, for: .example(status, ssid: Self.name(options.ssid)))
    try hooks.finish()
    switch hooks.ending {
    case .exited(let status):
      StandardError.warn("'\(path)' has ended with exit status \(status)".sanitizedForTerminal)
      return .exited(status)
    case .killed(let signal):
      StandardError.warn("'\(path)' was ended by signal \(signal)".sanitizedForTerminal)
      return .exited(128 + signal)
    case nil: return .exited(2)
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
      verdict.cost.expense = isCellular ? .modem : nil
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
