import CNetwatch
import Glibc
import Netwatch
import NetwatchLines

// The functions of netwatch.h, which describes each of them. They do not change errno. If they fail, they store a sentence for
// netwatch_error_text().

@c @implementation
public func netwatch_open(
  _ options: UnsafePointer<UnsafePointer<CChar>?>!, _ out: UnsafeMutablePointer<OpaquePointer?>!
) -> CInt {
  unsafe out?.pointee = nil
  return answering(failure: { -$0 }) { () throws(NetworkMonitorError) in
    guard let out = unsafe out else {
      throw NetworkMonitorError(EINVAL, "there is nowhere to put the handle: out is NULL")
    }
    var words: [String] = []
    var next = unsafe options
    while let word = unsafe next?.pointee {
      unsafe words.append(String(cString: word))
      unsafe next = unsafe next?.successor()
    }
    unsafe out.pointee = try Handle(words).handOut()
    return 0
  }
}

@c @implementation
public func netwatch_close(_ handle: OpaquePointer!) {
  answering(failure: { _ in }) { () throws(NetworkMonitorError) in
    if unsafe handle != nil { unsafe try Handle.any(at: handle).close() }
  }
}

@c @implementation
public func netwatch_fd(_ handle: OpaquePointer!) -> CInt {
  answering(failure: { $0 == ECHILD ? -1 : -$0 }) { () throws(NetworkMonitorError) in
    unsafe try Handle.own(at: handle).monitor.descriptor
  }
}

@c @implementation
public func netwatch_dispatch(_ handle: OpaquePointer!) -> CInt {
  answering(failure: { -$0 }) { () throws(NetworkMonitorError) in
    CInt(clamping: unsafe try Handle.own(at: handle).dispatch())
  }
}

@c @implementation
public func netwatch_on_change(
  _ handle: OpaquePointer!, _ callback: (@convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void)!,
  _ context: UnsafeMutableRawPointer!
) {
  answering(failure: { _ in }) { () throws(NetworkMonitorError) in
    unsafe try Handle.own(at: handle).setCallback(callback, context)
  }
}

@c @implementation
public func netwatch_get_status(_ handle: OpaquePointer!) -> CInt {
  answering(failure: { _ in CInt(NETWATCH_UNKNOWN) }) { () throws(NetworkMonitorError) in
    switch unsafe try Handle.own(at: handle).monitor.record.path.status {
    case .unknown: CInt(NETWATCH_UNKNOWN)
    case .notReachable: CInt(NETWATCH_NOT_REACHABLE)
    case .wwan: CInt(NETWATCH_WWAN)
    case .wifi: CInt(NETWATCH_WIFI)
    }
  }
}

@c @implementation
public func netwatch_get(_ handle: OpaquePointer!, _ field: UnsafePointer<CChar>!) -> UnsafePointer<CChar>! {
  unsafe answering(failure: { _ in nil }) { () throws(NetworkMonitorError) in
    let owner = unsafe try Handle.own(at: handle)
    guard let field = unsafe field else { throw NetworkMonitorError(EINVAL, "the name of the field is NULL") }
    return unsafe try owner.text(of: String(cString: field))
  }
}

@c @implementation
public func netwatch_holds(_ handle: OpaquePointer!, _ condition: UnsafePointer<CChar>!) -> CInt {
  answering(failure: { -$0 }) { () throws(NetworkMonitorError) in
    let owner = unsafe try Handle.own(at: handle)
    guard let condition = unsafe condition else { throw NetworkMonitorError(EINVAL, "the condition is NULL") }
    return unsafe try owner.monitor.holds(String(cString: condition)) ? 1 : 0
  }
}

@c @implementation
public func netwatch_line(_ handle: OpaquePointer!) -> UnsafePointer<CChar>! {
  unsafe answering(failure: { _ in nil }) { () throws(NetworkMonitorError) in unsafe try Handle.own(at: handle).line() }
}

@c @implementation
public func netwatch_begin(_ handle: OpaquePointer!, _ label: UnsafePointer<CChar>!) -> UInt64 {
  answering(failure: { _ in 0 }) { () throws(NetworkMonitorError) in unsafe try Handle.own(at: handle).begin(label) }
}

@c @implementation
public func netwatch_end(_ handle: OpaquePointer!, _ request: UInt64) {
  answering(failure: { _ in }) { () throws(NetworkMonitorError) in
    unsafe try Handle.own(at: handle).monitor.endRequest(request)
  }
}

@c @implementation
public func netwatch_error_text() -> UnsafePointer<CChar>! { unsafe LastError.text }

@c @implementation
public func netwatch_version() -> UnsafePointer<CChar>! { unsafe version.text }

/// The version of the library as text for C, which is valid as long as the process runs.
private let version = unsafe VersionText(text: UnsafePointer(strdup(NetwatchVersion.text)))

/// A text for C that never changes.
///
/// `@unchecked`: nothing writes to the text.
@safe private struct VersionText: @unchecked Sendable {
  let text: UnsafePointer<CChar>?
}

/// Calls `body` for a caller in C, keeps `errno` as it was, and stores the sentence about a failure for this thread.
///
/// - Parameters:
///   - failure: Makes the result for the caller from the number of an error.
///   - body: The work of the function.
/// - Returns: The result of `body`, or that of `failure` if `body` throws.
private func answering<Answer>(
  failure: (_ code: CInt) -> Answer, _ body: () throws(NetworkMonitorError) -> Answer
) -> Answer {
  let number = errno
  defer { errno = number }
  do throws(NetworkMonitorError) {
    let answer = try body()
    LastError.set(nil)
    return answer
  } catch {
    LastError.set(error.description)
    return failure(error.code)
  }
}
