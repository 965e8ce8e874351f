import CLibCurl

extension HTTPMetrics {
  /// - Parameter lead: From the attempt's beginning until libcurl has got it.
  init(of easy: CurlEasy, after lead: Duration, furtherAttempts: Int) {
    self.init()
    func duration(_ info: CURLINFO) -> Duration? {
      let microseconds = easy.offset(info)
      return microseconds > 0 ? lead + .microseconds(microseconds) : nil
    }
    nameLookup = duration(CURLINFO_NAMELOOKUP_TIME_T)
    secureConnect = duration(CURLINFO_APPCONNECT_TIME_T)
    firstByte = duration(CURLINFO_STARTTRANSFER_TIME_T)
    total = duration(CURLINFO_TOTAL_TIME_T) ?? lead
    self.furtherAttempts = furtherAttempts
    reusedConnection = easy.integer(CURLINFO_NUM_CONNECTS) == 0
    connect = reusedConnection ? nil : duration(CURLINFO_CONNECT_TIME_T)
    protocolVersion =
      switch easy.integer(CURLINFO_HTTP_VERSION) {
      case Int(CURL_HTTP_VERSION_1_0): "1.0"
      case Int(CURL_HTTP_VERSION_1_1): "1.1"
      case Int(CURL_HTTP_VERSION_2_0): "2"
      case Int(CURL_HTTP_VERSION_3): "3"
      default: ""
      }
    bytesSent = easy.offset(CURLINFO_SIZE_UPLOAD_T)
    bytesReceived = easy.offset(CURLINFO_SIZE_DOWNLOAD_T)
  }
}
