import Netwatch

/// Figures of links. They are only in the lines of readers that have asked for them.
extension LineBuffer {
  mutating func append(_ quality: LinkQuality?) {
    guard let quality else { return append("null") }
    append(#"{"interface":"#)
    append(name: quality.kernelName)
    append(#","rtt_ms":"#)
    append(tenthsOrNull: quality.tenthsOfMilliseconds)
    append(#","loss_percent":"#)
    append(tenthsOrNull: quality.tenthsOfPercent)
    append(#","connections":"#)
    appendDecimal(UInt64(clamping: quality.connections))
    append("}")
  }

  private mutating func append(tenthsOrNull value: Int?) {
    if let value { append(tenths: value) } else { append("null") }
  }

  /// Appends the traffic of a link, or `null`.
  ///
  /// - Parameter isNamed: Whether to write the name of the link. A list of links already has the name beside it.
  mutating func append(_ traffic: LinkTraffic?, isNamed: Bool) {
    guard let traffic else { return append("null") }
    append("{")
    if isNamed {
      append(#""interface":"#)
      append(name: traffic.kernelName)
      append(",")
    }
    append(#""rx_bps":"#)
    appendDecimal(orNull: traffic.receivedBitsPerSecond)
    append(#","tx_bps":"#)
    appendDecimal(orNull: traffic.sentBitsPerSecond)
    append(#","rx_bytes":"#)
    appendDecimal(traffic.receivedBytes)
    append(#","tx_bytes":"#)
    appendDecimal(traffic.sentBytes)
    append("}")
  }

  /// Appends the key `stages` with the state of each stage.
  package mutating func append(_ stages: NetworkStages) {
    append(#","stages":{"failing":"#)
    if let failing = stages.failing { appendQuoted(failing.rawValue) } else { append("null") }
    for stage in NetworkStage.allCases {
      let finding = stages[stage]
      append(",")
      appendQuoted(stage.rawValue)
      append(#":{"state":""#)
      append(text: finding.state.rawValue)
      append(#"","evidence":""#)
      append(text: finding.evidence.rawValue)
      append("\"")
      if let address = finding.address {
        append(#","address":""#)
        address.write(to: &self)
        append("\"")
      }
      append("}")
    }
    append("}")
  }

  private mutating func appendDecimal(orNull value: UInt64?) {
    if let value { appendDecimal(value) } else { append("null") }
  }
}
