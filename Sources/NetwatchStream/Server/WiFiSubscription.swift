import Netwatch

/// What a client has asked to know of the WiFi network, and how strong the signal was when it was told last.
struct WiFiSubscription {
  var reporting = WiFiReporting()
  /// Nil before the answer to what it has asked.
  private var told: WiFiSignal?

  /// Whether a record about the WiFi network alone is for this client; others may have asked for more.
  func isNews(_ record: EventRecord) -> Bool {
    guard record.path.reason == .signalChanged else { return reporting.isWanted }
    guard let signal = record.path.wifi?.signal, let told else { return false }
    return reporting.signal?.hasNews(signal, after: told) ?? false
  }

  /// The client is told of this record.
  mutating func note(_ record: EventRecord) {
    guard reporting.signal != nil else { return }
    told = record.path.wifi?.signal
  }
}
