import NetwatchHTTP

/// One try to get the file. From any thread.
protocol Retrieval: AnyObject, Sendable {
  /// How much has come, in bytes, and of how much; the latter is nil where the server has not said it.
  var amount: (received: Int64, total: Int64?) { get }
  /// How much of it another try need not ask for; nil where it has to begin anew.
  var kept: Int64? { get }
  /// Ends it with `cancelled`, and keeps what has come.
  func stop()
}

extension HTTPDownload: Retrieval {
  var amount: (received: Int64, total: Int64?) { (progress.received, progress.totalToReceive) }
  var kept: Int64? { resumeData.flatMap { $0.offset > 0 ? $0.offset : nil } }
  func stop() { cancel(keepsFiles: true) }
}
