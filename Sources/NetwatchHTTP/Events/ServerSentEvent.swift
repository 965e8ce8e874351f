/// One event of a stream of server-sent events (WHATWG HTML, section 9.2).
public struct ServerSentEvent: Hashable, Sendable {
  /// The name of the event. Default: "message", which is what the specification uses for an event without a name.
  public let type: String
  /// The text of the event. The lines of an event with several `data` fields are joined by line feeds.
  public let data: String
  /// The last event ID that the server has sent, with this event or with an earlier one. Empty if the server has sent none.
  ///
  /// A new connection asks the server for the events after this one. To continue after the program has restarted, store this
  /// text and pass it as ``ServerSentEventOptions/lastEventID``.
  public let id: String

  /// Creates an event, for example for a test.
  ///
  /// - Parameters:
  ///   - type: The name of the event. Default: "message".
  ///   - data: The text of the event.
  ///   - id: The last event ID. Default: empty.
  public init(type: String = "message", data: String, id: String = "") {
    self.type = type
    self.data = data
    self.id = id
  }
}
