import HTTPTypes

/// Descriptions of a reply without header fields, bodies and queries, which may hold secrets.
extension HTTPReply: CustomStringConvertible, CustomDebugStringConvertible {
  /// The reply in one line: `GET https://example.org/users: 200 OK, 512 bytes in 0.034 seconds`. The bytes are those of the
  /// body as sent over the network.
  public var description: String {
    "\(request.title): \(response.status), \(metrics.bytesReceived) bytes in \(metrics.total)"
  }

  /// The reply in several lines: ``description``, the type of the value, and the time of each attempt.
  public var debugDescription: String {
    var lines = ["\(self)", "value: \(Value.self)"]
    for (index, metrics) in allMetrics.enumerated() {
      let connection = metrics.reusedConnection ? "a used" : "a new"
      // Without a version there was no connection: the cache or a transport has answered.
      let version =
        metrics.protocolVersion.isEmpty ? "" : " over HTTP/\(metrics.protocolVersion) on \(connection) connection"
      lines.append("attempt \(index + 1): \(metrics.total)\(version)")
    }
    if let serializationDuration { lines.append("serialization: \(serializationDuration)") }
    return lines.joined(separator: "\n")
  }
}
