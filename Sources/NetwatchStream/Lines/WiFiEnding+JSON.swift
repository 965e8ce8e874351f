import Netwatch

extension WiFiEnding {
  /// The value of `wifi_end` in a line.
  package var json: JSONValue {
    let (kind, code): (String, Int?) =
      switch self.kind {
      case .endedByAccessPoint(let reason): ("ended_by_access_point", reason)
      case .endedByThisMachine(let reason): ("ended_by_this_machine", reason)
      case .lost: ("lost", nil)
      case .refused(let status): ("refused", status)
      case .unanswered: ("unanswered", nil)
      }
    return .object([
      "kind": .string(kind), "code": code.map { .integer(Int64($0)) } ?? .null, "text": .string(description),
    ])
  }

  /// Reads the value of `wifi_end` in a line. Nil for a kind that only a later version knows.
  init?(_ value: JSONValue) {
    let code = value["code"]?.integer(in: 0...Int64(UInt16.max)).map { Int($0) } ?? 0
    switch value["kind"]?.string {
    case "ended_by_access_point": self.init(.endedByAccessPoint(reason: code))
    case "ended_by_this_machine": self.init(.endedByThisMachine(reason: code))
    case "lost": self.init(.lost)
    case "refused": self.init(.refused(status: code))
    case "unanswered": self.init(.unanswered)
    default: return nil
    }
  }
}
