import NetwatchHTTP

/// One try to get the file. From any thread.
protocol Retrieval: AnyObject, Sendable {
  var amount: Amount { get }
  /// How much of it another try need not ask for; nil where it has to begin anew.
  var kept: Int64? { get }
  /// Ends it with `cancelled`, and keeps what has come.
  func stop()
}

/// How much has come.
struct Amount: Hashable, Sendable {
  var received: Int64 = 0
  /// Nil where the server has not said it.
  var total: Int64?
}

extension HTTPDownload: Retrieval {
  var amount: Amount { Amount(received: progress.received, total: progress.totalToReceive) }
  var kept: Int64? { resumeData.flatMap { $0.offset > 0 ? $0.offset : nil } }
  func stop() { cancel(keepsFiles: true) }
}
