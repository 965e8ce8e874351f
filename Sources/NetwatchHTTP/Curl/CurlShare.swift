import CLibCurl

/// What the transfers of a session have in common beside their connections: cookies. On one thread, so without locks.
@safe final class CurlShare {
  let handle: UnsafeMutableRawPointer

  static func open() throws(HTTPError) -> CurlShare {
    try CurlLibrary.start()
    guard let handle = unsafe curl_share_init() else { throw HTTPError(.other, "curl_share_init") }
    let share = unsafe CurlShare(owning: handle)
    guard unsafe netwatch_curl_share(handle, CURL_LOCK_DATA_COOKIE) == CURLSHE_OK else {
      throw HTTPError(.other, "curl_share_setopt")
    }
    return share
  }

  private init(owning handle: UnsafeMutableRawPointer) { unsafe self.handle = handle }

  deinit { unsafe curl_share_cleanup(handle) }
}
