import Glibc
import Netwatch
import NetwatchLines
import NetwatchStream

/// The object behind a `netwatch *`: a monitor, its callback, and the texts that callers have got.
///
/// `@unchecked`: by the rules of the header, only one thread at a time uses a handle. What other threads may call is `Sendable` in
/// the monitor.
@safe final class Handle: @unchecked Sendable {
  typealias Callback = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void

  /// The most bytes that are read of a label. The monitor shortens labels to less than that.
  private static let longestLabel = 1_024

  let monitor: PolledMonitor
  /// The process that has opened the handle. After a fork, the child must not use the handle.
  private let process = getpid()
  private var callback: Callback?
  private var context: UnsafeMutableRawPointer?
  private var isClosing = false
  /// The texts that callers have got since the last dispatch. The next dispatch frees them.
  private var texts: [UnsafeMutablePointer<CChar>] = unsafe []
  /// The texts of the present state, by field.
  private var fields: [Field: UnsafeMutablePointer<CChar>] = unsafe [:]
  /// The line of the present state, if a caller has asked for it.
  private var lineOfState: UnsafeMutablePointer<CChar>?

  init(_ options: [String]) throws(NetworkMonitorError) {
    monitor = try PolledMonitor(options)
    monitor.onChange = { [unowned self] in changed() }
  }

  deinit { freeTexts() }

  /// Returns a pointer to the handle for a caller in C. The caller owns the handle until ``close()``.
  func handOut() -> OpaquePointer { unsafe OpaquePointer(Unmanaged.passRetained(self).toOpaque()) }

  /// Returns the handle behind a pointer, whichever process has opened it.
  ///
  /// - Throws: `EINVAL` if the pointer is NULL.
  static func any(at pointer: OpaquePointer?) throws(NetworkMonitorError) -> Handle {
    guard let pointer = unsafe pointer else { throw NetworkMonitorError(EINVAL, "the handle is NULL") }
    return unsafe Unmanaged<Handle>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
  }

  /// Returns the handle behind a pointer, if this process has opened it.
  ///
  /// - Throws: `EINVAL` if the pointer is NULL, `ECHILD` if the handle belongs to the parent process.
  static func own(at pointer: OpaquePointer?) throws(NetworkMonitorError) -> Handle {
    let handle = try unsafe any(at: pointer)
    guard handle.isOwn else {
      throw NetworkMonitorError(ECHILD, "the handle belongs to the parent process; open one of your own after fork")
    }
    return handle
  }

  private var isOwn: Bool { process == getpid() }

  // MARK: Changes

  func setCallback(_ callback: Callback?, _ context: UnsafeMutableRawPointer?) {
    unsafe (self.callback, self.context) = (callback, context)
  }

  func dispatch() throws(NetworkMonitorError) -> Int {
    // Within a callback, the monitor throws an error, and the texts that callers have got stay valid.
    if monitor.isDispatching { return try monitor.dispatch() }
    freeTexts()
    defer { if isClosing { close() } }
    return try monitor.dispatch()
  }

  private func changed() {
    unsafe fields = [:]
    unsafe lineOfState = nil
    if !isClosing { unsafe callback?(OpaquePointer(Unmanaged.passUnretained(self).toOpaque()), context) }
  }

  /// Closes the handle; within a callback, only when dispatch returns. The handle may be freed when this method returns.
  func close() {
    if isOwn, monitor.isDispatching {
      isClosing = true
      return
    }
    if isOwn { monitor.close() } else { monitor.abandon() }
    unsafe Unmanaged.passUnretained(self).release()
  }

  // MARK: Texts

  /// The fields of `netwatch_get`.
  private enum Field: String {
    case medium, scope, interface, reason, description, vpn, ssid, ipv4, ipv6, gateway4, gateway6, expensive,
      constrained,
      internet, captive, stage
    case visible
    case inFlight = "in_flight"
    case expensiveBecause = "expensive_because"
    case networkID = "network_id"
    case signal = "signal_dbm"
    case portalURL = "portal_url"
    case portalAPI = "portal_api"
    case nameServers = "name_servers"
    case prefix = "nat64_prefix"
    case translator = "translated_by"
    case speed = "speed_mbps"
    case possibleSpeed = "possible_mbps"
    case absence = "no_carrier_because"
    case wifiEnding = "wifi_end"
    case uplinks
    case loginURL = "login_url"
    case sessionSeconds = "session_seconds"
    case sessionBytes = "session_bytes"
    case roundTripTime = "rtt_ms"
    case loss = "loss_percent"
    case received = "rx_bps"
    case sent = "tx_bps"
    case rulesFault = "rules_fault"

    func text(_ monitor: PolledMonitor) -> String? {
      let record = monitor.record
      let path = record.path
      let portal = record.announcements?.captivePortal
      let translation = record.translation
      switch self {
      case .scope: return path.isLocalOnly ? "local" : nil
      case .reason: return record.reason
      case .description: return path.description
      case .internet: return record.internet?.rawValue
      case .portalURL: return record.portalURL?.description
      case .portalAPI: return record.announcements?.portalAPI?.description
      case .nameServers:
        let servers = record.announcements?.nameServers ?? []
        return servers.isEmpty ? nil : servers.map(\.description).joined(separator: " ")
      case .prefix: return translation?.prefix?.description
      case .translator: return translation?.translator.rawValue
      case .speed: return record.cable?.megabitsPerSecond.map { String($0) }
      case .possibleSpeed: return record.cable?.possibleMegabitsPerSecond.map { String($0) }
      case .absence: return record.cable?.absence?.rawValue
      case .wifiEnding: return record.wifiEnding?.description
      case .uplinks:
        let working = (record.uplinks ?? []).filter(\.works)
        return working.isEmpty ? nil : working.map(\.interfaceName).joined(separator: " ")
      case .captive: return portal.map { $0.isCaptive ? "1" : "0" }
      case .loginURL: return portal?.loginPage?.description
      case .sessionSeconds: return portal?.secondsRemaining.map { String($0) }
      case .sessionBytes: return portal?.bytesRemaining.map { String($0) }
      case .stage: return record.stages?.failing?.rawValue
      case .visible: return record.activity.state.isVisible ? "1" : "0"
      case .inFlight: return String(record.activity.inFlight)
      case .rulesFault: return monitor.rulesFault
      default: break
      }
      guard path.isReachable else { return nil }
      return switch self {
      case .medium: path.medium?.rawValue
      case .interface: path.interfaceName
      case .vpn: path.vpn?.interfaceName
      case .ssid: path.wifi?.ssid.text
      case .ipv4: path.ipv4?.address.description
      case .ipv6: path.ipv6?.address.description
      case .gateway4: path.ipv4?.gateway?.description
      case .gateway6: path.ipv6?.gateway?.description
      case .expensive: path.isExpensive ? "1" : "0"
      case .expensiveBecause: path.expense.flatMap { $0 == .unknown ? nil : $0.rawValue }
      case .constrained: path.isConstrained ? "1" : "0"
      case .networkID: monitor.networkID
      case .signal: path.wifi?.signal.map { String($0.dBm) }
      case .roundTripTime: record.carrierQuality?.roundTripTime.map { Self.tenths($0 / .milliseconds(1)) }
      case .loss: record.carrierQuality?.lossPercent.map(Self.tenths)
      case .received: record.carrierTraffic?.receivedBitsPerSecond.map { String($0) }
      case .sent: record.carrierTraffic?.sentBitsPerSecond.map { String($0) }
      case .scope, .reason, .description, .internet, .portalURL, .portalAPI, .nameServers, .prefix, .translator, .speed,
        .possibleSpeed, .absence, .wifiEnding, .uplinks, .captive, .loginURL, .sessionSeconds, .sessionBytes, .stage,
        .visible,
        .inFlight, .rulesFault:
        nil
      }
    }

    /// Returns a figure with one decimal, as the line has it.
    private static func tenths(_ figure: Double) -> String {
      let (whole, rest) = Int((figure * 10).rounded()).quotientAndRemainder(dividingBy: 10)
      return "\(whole).\(rest)"
    }
  }

  func text(of name: String) throws(NetworkMonitorError) -> UnsafePointer<CChar>? {
    guard let field = Field(rawValue: name) else { throw NetworkMonitorError(EINVAL, "there is no field '\(name)'") }
    if let known = unsafe fields[field] { return unsafe UnsafePointer(known) }
    guard let text = field.text(monitor), let copy = unsafe strdup(Self.withoutNUL(text)) else { return nil }
    unsafe texts.append(copy)
    unsafe fields[field] = copy
    return unsafe UnsafePointer(copy)
  }

  /// Returns the text with each NUL replaced. Names that strangers choose may contain a NUL, which would end the text in C.
  private static func withoutNUL(_ text: String) -> String {
    guard text.utf8.contains(0) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value == 0 ? "\u{FFFD}" : $0 }))
  }

  /// Returns the state as one line of JSON without the line feed.
  func line() -> UnsafePointer<CChar>? {
    if let known = unsafe lineOfState { return unsafe UnsafePointer(known) }
    unsafe lineOfState = monitor.withLine { bytes in
      unsafe bytes.withUnsafeBytes { bytes in
        unsafe bytes.assumingMemoryBound(to: CChar.self).baseAddress.flatMap { unsafe strndup($0, bytes.count - 1) }
      }
    }
    if let line = unsafe lineOfState { unsafe texts.append(line) }
    return unsafe UnsafePointer(lineOfState)
  }

  private func freeTexts() {
    unsafe texts.forEach { unsafe free($0) }
    unsafe texts.removeAll(keepingCapacity: true)
    unsafe fields.removeAll(keepingCapacity: true)
    unsafe lineOfState = nil
  }

  // MARK: Requests

  func begin(_ label: UnsafePointer<CChar>?) -> UInt64 {
    let text = unsafe label.map { label in
      unsafe label.withMemoryRebound(to: UInt8.self, capacity: Self.longestLabel) { bytes in
        unsafe String(
          decoding: UnsafeBufferPointer(start: bytes, count: strnlen(label, Self.longestLabel)), as: UTF8.self)
      }
    }
    return monitor.beginRequest(text)
  }
}

extension NetworkMonitorError {
  init(_ code: CInt, _ description: String) {
    self.init(operation: "netwatch", code: code, description: description)
  }
}
