import CLibCurl
import Netwatch

/// The cookies that the transfers of a session share.
///
/// `@unchecked`: what is not constant belongs to libcurl, which uses it under `lock`, as this class does. Without a lock, all
/// users are on one thread.
@safe final class CurlShare: @unchecked Sendable {
  let handle: UnsafeMutableRawPointer
  /// A handle that never makes a transfer. libcurl only shows cookies to handles of transfers.
  private let reader: UnsafeMutableRawPointer
  /// The lock; nil if only one thread uses the cookies.
  private let lock: RecursiveLock?

  /// - Parameter isLocked: Whether several threads use the cookies.
  init(isLocked: Bool) throws(HTTPError) {
    try CurlLibrary.start()
    guard let handle = unsafe curl_share_init() else { throw HTTPError(.other, "curl_share_init") }
    guard let reader = unsafe curl_easy_init() else {
      unsafe curl_share_cleanup(handle)
      throw HTTPError(.other, "curl_easy_init")
    }
    unsafe self.handle = handle
    unsafe self.reader = reader
    lock = isLocked ? RecursiveLock() : nil
    guard unsafe netwatch_curl_share(handle, CURL_LOCK_DATA_COOKIE) == CURLSHE_OK,
      unsafe lock?.guards(handle) ?? true,
      unsafe netwatch_curl_set_pointer(reader, CURLOPT_SHARE, handle) == CURLE_OK
    else { throw HTTPError(.other, "curl_share_setopt") }
  }

  deinit {
    unsafe curl_easy_cleanup(reader)
    unsafe curl_share_cleanup(handle)
  }

  /// Keeps all other threads from the cookies until ``giveBack()``. May be called from within libcurl.
  ///
  /// - Returns: Whether there are other threads.
  func hold() -> Bool {
    lock?.lock()
    return lock != nil
  }

  func giveBack() { lock?.unlock() }

  private func locked<Result>(_ body: () -> Result) -> Result {
    lock?.lock()
    defer { lock?.unlock() }
    return body()
  }

  /// The cookies that have not expired.
  var all: [SessionCookie] {
    locked {
      let lines = unsafe netwatch_curl_get_list(reader, CURLINFO_COOKIELIST)
      defer { unsafe curl_slist_free_all(lines) }
      var cookies: [SessionCookie] = []
      var next = unsafe lines
      while let line = unsafe next?.pointee {
        if let text = unsafe line.data, let cookie = unsafe SessionCookie(line: String(cString: text)) {
          cookies.append(cookie)
        }
        unsafe next = line.next
      }
      return cookies
    }
  }

  func store(_ cookies: [SessionCookie]) {
    locked {
      for cookie in cookies { unsafe netwatch_curl_set_string(reader, CURLOPT_COOKIELIST, cookie.line) }
    }
  }

  /// - Parameter condition: Returns whether to remove a cookie. Called without the lock.
  func remove(where condition: (SessionCookie) -> Bool) {
    let removed = Set(all.filter(condition))
    guard !removed.isEmpty else { return }
    // libcurl removes one cookie or all of them. No transfer sees the state in between.
    locked {
      let kept = all.filter { !removed.contains($0) }
      unsafe netwatch_curl_set_string(reader, CURLOPT_COOKIELIST, "ALL")
      store(kept)
    }
  }
}

extension RecursiveLock {
  /// Makes libcurl take the lock whenever transfers use what they share. The lock must outlive the share.
  fileprivate func guards(_ share: UnsafeMutableRawPointer) -> Bool {
    let pointer = unsafe Unmanaged.passUnretained(self).toOpaque()
    let codes = [
      unsafe netwatch_curl_share_set_pointer(share, CURLSHOPT_USERDATA, pointer),
      unsafe netwatch_curl_share_set_lock(share) { _, _, _, pointer in
        if let pointer = unsafe pointer { unsafe RecursiveLock.at(pointer).lock() }
      },
      unsafe netwatch_curl_share_set_unlock(share) { _, _, pointer in
        if let pointer = unsafe pointer { unsafe RecursiveLock.at(pointer).unlock() }
      },
    ]
    return codes.allSatisfy { $0 == CURLSHE_OK }
  }

  private static func at(_ pointer: UnsafeMutableRawPointer) -> RecursiveLock {
    unsafe Unmanaged<RecursiveLock>.fromOpaque(pointer).takeUnretainedValue()
  }
}
