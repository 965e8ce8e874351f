import Netwatch

/// What a client asks of the WiFi network, and the signal that it was sent last.
struct WiFiSubscription {
  var reporting = WiFiReporting()
  /// The signal that was sent last; nil before the first response.
  private var told: WiFiSignal?

  /// Returns whether a record that is only about the WiFi network is for this client. Other clients may have asked for more.
  func isNews(_ record: EventRecord) -> Bool {
    guard record.path.reason == .signalChanged else { return reporting.isWanted }
    guard let signal = record.path.wifi?.signal, let told else { return false }
    return reporting.signal?.hasNews(signal, after: told) ?? false
  }

  /// Notes that the client gets this record.
  mutating func note(_ record: EventRecord) {
    guard reporting.signal != nil else { return }
    told = record.path.wifi?.signal
  }
}
