import CLibCurl

/// What a task's last attempt took. Each duration counts from the attempt's beginning; nil where the step was not reached.
public struct HTTPMetrics: Sendable {
  public var nameLookup: Duration?
  /// Nil also where a connection was used again.
  public var connect: Duration?
  /// Until TLS was up; nil for http.
  public var secureConnect: Duration?
  public var firstByte: Duration?
  public var total: Duration = .zero
  /// The attempts that redirects, challenges and retries added to the first.
  public var furtherAttempts = 0
  public var reusedConnection = false
  /// `2` for HTTP/2, `1.1`.
  public var protocolVersion = ""
  /// As sent over the network: with content encodings, without heads.
  public var bytesSent: Int64 = 0
  public var bytesReceived: Int64 = 0

  init() {}

  /// - Parameter lead: From the attempt's beginning until libcurl has got it.
  init(of easy: CurlEasy, after lead: Duration, furtherAttempts: Int) {
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
