import NetwatchHTTP

/// One attempt to get the file. All members can be used from any thread.
protocol Retrieval: AnyObject, Sendable {
  /// The bytes that were received, and the length of the file; nil if the server has not sent it.
  var amount: (received: Int64, total: Int64?) { get }
  /// The number of bytes that another attempt does not have to request. Nil if it has to begin again.
  var kept: Int64? { get }
  /// Ends the attempt with `cancelled`, and keeps the received bytes.
  func stop()
}

extension HTTPDownload: Retrieval {
  var amount: (received: Int64, total: Int64?) { (progress.received, progress.totalToReceive) }
  var kept: Int64? { resumeData.flatMap { $0.offset > 0 ? $0.offset : nil } }
  func stop() { cancel(keepsFiles: true) }
}
