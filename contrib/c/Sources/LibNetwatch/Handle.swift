import Glibc
import Netwatch
import NetwatchLines
import NetwatchStream

/// What a `netwatch *` leads to: a monitor, its callback, and the texts that were handed out.
///
/// `@unchecked`: the header gives a handle to one thread at a time, and what other threads may do is `Sendable` in the monitor.
@safe final class Handle: @unchecked Sendable {
  typealias Callback = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void

  /// Longer labels are cut off in any case.
  private static let longestLabel = 1_024

  let monitor: PolledMonitor
  /// The process that has opened it.
  private let process = getpid()
  private var callback: Callback?
  private var context: UnsafeMutableRawPointer?
  private var isClosing = false
  private var writer = JSONLineWriter()
  /// What was handed out since the last dispatch.
  private var texts: [UnsafeMutablePointer<CChar>] = unsafe []
  /// Those of the present state.
  private var fields: [Field: UnsafeMutablePointer<CChar>] = unsafe [:]
  private var lineOfState: UnsafeMutablePointer<CChar>?

  init(_ options: [String]) throws(NetworkMonitorError) {
    monitor = try PolledMonitor(options)
    monitor.onChange = { [unowned self] in changed() }
  }

  deinit { freeTexts() }

  /// The handle is the caller's from now on, until ``close()``.
  func handOut() -> OpaquePointer { unsafe OpaquePointer(Unmanaged.passRetained(self).toOpaque()) }

  /// The handle that a pointer leads to, wherever it was opened.
  static func any(at pointer: OpaquePointer?) throws(NetworkMonitorError) -> Handle {
    guard let pointer = unsafe pointer else { throw NetworkMonitorError(EINVAL, "the handle is NULL") }
    return unsafe Unmanaged<Handle>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
  }

  /// The handle that a pointer leads to, if this process has opened it.
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
    // Within a callback the monitor refuses, and what was handed out stays.
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

  /// Within a callback, when dispatch returns. The handle may be gone afterwards.
  func close() {
    if isOwn, monitor.isDispatching {
      isClosing = true
      return
    }
    if isOwn { monitor.close() } else { monitor.abandon() }
    unsafe Unmanaged.passUnretained(self).release()
  }

  // MARK: Texts

  /// What `netwatch_get` knows.
  private enum Field: String {
    case medium, interface, reason, vpn, ssid, ipv4, ipv6, gateway4, gateway6, expensive, visible
    case inFlight = "in_flight"

    func text(_ record: EventRecord) -> String? {
      let path = record.path
      switch self {
      case .reason: return record.reason
      case .visible: return record.activity.state.isVisible ? "1" : "0"
      case .inFlight: return String(record.activity.inFlight)
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
      case .reason, .visible, .inFlight: nil
      }
    }
  }

  func text(of name: String) throws(NetworkMonitorError) -> UnsafePointer<CChar>? {
    guard let field = Field(rawValue: name) else { throw NetworkMonitorError(EINVAL, "there is no field '\(name)'") }
    if let known = unsafe fields[field] { return unsafe UnsafePointer(known) }
    guard let text = field.text(monitor.record), let copy = unsafe strdup(Self.withoutNUL(text)) else { return nil }
    unsafe texts.append(copy)
    unsafe fields[field] = copy
    return unsafe UnsafePointer(copy)
  }

  /// A name of a stranger's making may have any character, and a NUL would end it in C.
  private static func withoutNUL(_ text: String) -> String {
    guard text.utf8.contains(0) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value == 0 ? "\u{FFFD}" : $0 }))
  }

  /// The state as a line without its line feed.
  func line() -> UnsafePointer<CChar>? {
    if let known = unsafe lineOfState { return unsafe UnsafePointer(known) }
    writer.write(monitor.record)
    unsafe lineOfState = writer.withLine { bytes in
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
