import Netwatch
import NetwatchStream

extension LineBuffer {
  /// Appends figures as a line of JSON, version 1 of contrib/schemas/top.schema.json.
  mutating func append(_ figures: ProgramFigures, by grouping: ProgramFigures.Grouping, nanosecondsSince1970: Int64) {
    append(#"{"v":1,"time":"#)
    appendTime(nanosecondsSince1970: nanosecondsSince1970)
    append(#","programs":["#)
    for (place, program) in figures.programs.enumerated() {
      append(place > 0 ? #",{"name":"# : #"{"name":"#)
      if let name = program.name { appendQuoted(name) } else { append("null") }
      switch grouping {
      case .name: break
      case .pid:
        append(#","pid":"#)
        append(orNull: program.process.map { UInt64(clamping: $0) })
      case .unit:
        append(#","unit":"#)
        if let unit = program.unit { appendQuoted(unit) } else { append("null") }
      }
      append(#","uid":"#)
      appendDecimal(UInt64(program.user))
      append(",")
      append(program.traffic)
      append(#","rx_bps":"#)
      append(orNull: program.traffic.receivedBitsPerSecond)
      append(#","tx_bps":"#)
      append(orNull: program.traffic.sentBitsPerSecond)
      append(#","in_flight":"#)
      appendDecimal(UInt64(clamping: program.inFlight))
      append("}")
    }
    append(#"],"short_lived":{"#)
    append(figures.shortLived)
    append(#"},"other":"#)
    if let other = figures.other {
      append("{")
      append(other)
      append("}")
    } else {
      append("null")
    }
    append(#","overruns":"#)
    appendDecimal(figures.overruns)
    append("}\n")
  }

  private mutating func append(_ traffic: ProgramFigures.Traffic) {
    append(#""rx_bytes":"#)
    appendDecimal(traffic.received)
    append(#","tx_bytes":"#)
    appendDecimal(traffic.sent)
  }

  private mutating func append(orNull value: UInt64?) {
    if let value { appendDecimal(value) } else { append("null") }
  }
}
