import CLibCurl

/// What the transfers of a session have in common beside their connections: cookies. On one thread, so without locks.
@safe final class CurlShare {
  let handle: UnsafeMutableRawPointer
  /// libcurl shows cookies to handles of transfers alone; this one never makes any.
  private let reader: UnsafeMutableRawPointer

  init() throws(HTTPError) {
    try CurlLibrary.start()
    guard let handle = unsafe curl_share_init() else { throw HTTPError(.other, "curl_share_init") }
    guard let reader = unsafe curl_easy_init() else {
      unsafe curl_share_cleanup(handle)
      throw HTTPError(.other, "curl_easy_init")
    }
    unsafe self.handle = handle
    unsafe self.reader = reader
    guard unsafe netwatch_curl_share(handle, CURL_LOCK_DATA_COOKIE) == CURLSHE_OK,
      unsafe netwatch_curl_set_pointer(reader, CURLOPT_SHARE, handle) == CURLE_OK
    else { throw HTTPError(.other, "curl_share_setopt") }
  }

  deinit {
    unsafe curl_easy_cleanup(reader)
    unsafe curl_share_cleanup(handle)
  }

  /// Those that have not expired.
  var all: [SessionCookie] {
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

  func store(_ cookie: SessionCookie) { unsafe netwatch_curl_set_string(reader, CURLOPT_COOKIELIST, cookie.line) }

  func removeAll() { unsafe netwatch_curl_set_string(reader, CURLOPT_COOKIELIST, "ALL") }
}
