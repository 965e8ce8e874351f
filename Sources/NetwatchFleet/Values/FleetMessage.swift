import Netwatch
import NetwatchStream

/// The topics of a machine: `netwatch/1/ID/line`, `…/presence` and `…/alive`. The version of the payloads is a part of the topic, so that
/// readers of one version get no others. Nothing but the machine's ID is a part of a topic.
package enum FleetTopic: String, CaseIterable, Sendable {
  /// ``FleetLine``: each change, once and in order. The broker retains the last one.
  case line
  /// ``FleetPresence``: after each connection, at the end, and as the last will. The broker retains the last one.
  case presence
  /// ``FleetSign``: every few seconds, so that silence is noticed without the broker's help.
  case alive

  package static let root = "netwatch/1"

  package func topic(of machine: MachineID) -> String { "\(Self.root)/\(machine)/\(rawValue)" }
}

/// A run of the program that speaks for a machine, eight random hexadecimal digits. Numbers of lines count within a run, so that no line
/// ever has the identity of another one: not after a loss of the spool, and not after a disk was set back.
package struct FleetRun: Hashable, Sendable, CustomStringConvertible {
  package let description: String

  package init?(_ text: String) {
    guard text.utf8.count == 8, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }) else { return nil }
    description = text
  }

  package static func new() -> FleetRun {
    let digits = String(UInt32.random(in: 0 ... .max), radix: 16)
    return FleetRun(String(repeating: "0", count: 8 - digits.utf8.count) + digits) ?? FleetRun(zero: ())
  }

  private init(zero: Void) { description = "00000000" }
}

/// A line of the stream with its identity: the machine, the run and the number.
package struct FleetLine: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    /// The bytes of the line, without the end of line.
    case line([UInt8])
    /// So many lines up to this number are lost, because the spool was full.
    case gap(Int64)
  }

  package var run: FleetRun
  /// From 1, without holes.
  package var number: Int64
  /// The highest number, which every reader of JSON has exactly (RFC 8259, section 6).
  package static let mostNumber: Int64 = 1 << 53 - 1
  package var content: Content
  /// Since when the machine has been as reachable as the line says, in nanoseconds since 1970 by its clock; nil for a gap.
  package var since: Int64?

  package init(run: FleetRun, number: Int64, content: Content, since: Int64? = nil) {
    (self.run, self.number, self.content, self.since) = (run, number, content, since)
  }

  /// The payload, one line of JSON without its end.
  package var payload: [UInt8] {
    var text = LineBuffer()
    text.append(text: #"{"v":1,"run":"\#(run)","n":\#(number)"#)
    if let since {
      text.append(#","since":"#)
      text.appendTime(nanosecondsSince1970: since)
    }
    switch content {
    case .line(let bytes): return Array(text.text.utf8) + Array(#","line":"#.utf8) + bytes + Array("}".utf8)
    case .gap(let count): return Array((text.text + #","lost":\#(count)}"#).utf8)
    }
  }

  /// Reads a payload; nil if it is none. The bytes of a line are left out.
  package init?(_ payload: [UInt8]) {
    guard let value = JSONValue(payload[...]), value["v"]?.integer == 1,
      let run = value["run"]?.string.flatMap(FleetRun.init), let number = value["n"]?.integer(in: 1...Self.mostNumber)
    else { return nil }
    if let count = value["lost"]?.integer(in: 1...number) {
      self.init(run: run, number: number, content: .gap(count))
    } else {
      guard value["line"] != nil else { return nil }
      let since = value["since"]?.string.flatMap(nanoseconds(of:))
      self.init(run: run, number: number, content: .line([]), since: since)
    }
  }
}

/// Whether a machine is there, and what is known of it.
package struct FleetPresence: Hashable, Sendable {
  /// Why a machine is not there.
  package enum Absence: String, Sendable {
    /// The program was ended.
    case ended
    /// The connection has broken off; this is the last will.
    case lost
  }

  package var run: FleetRun
  package var host: String
  /// In nanoseconds since 1970, by the clock of the machine. The last will has the time of the connection.
  package var time: Int64
  /// Nil if the machine is there.
  package var absence: Absence?
  /// After how many seconds without a sign the machine counts as offline.
  package var silence: Int64
  /// What the operator has written about the machine, such as its region.
  package var labels: [String: String]
  package var version: String

  package init(
    run: FleetRun, host: String, time: Int64, absence: Absence?, silence: Int64, labels: [String: String],
    version: String
  ) {
    (self.run, self.host, self.time, self.absence) = (run, host, time, absence)
    (self.silence, self.labels, self.version) = (silence, labels, version)
  }

  /// The payload, one line of JSON without its end.
  package var payload: [UInt8] {
    var text = LineBuffer()
    text.append(text: #"{"v":1,"run":"\#(run)","online":\#(absence == nil)"#)
    if let absence { text.append(text: #","absence":"\#(absence.rawValue)""#) }
    text.append(#","host":"#)
    text.appendQuoted(host)
    text.append(#","time":"#)
    text.appendTime(nanosecondsSince1970: time)
    text.append(text: #","silence":\#(silence),"labels":"#)
    text.append(.object(labels.mapValues { .string($0) }))
    text.append(#","version":"#)
    text.appendQuoted(version)
    text.append("}")
    return Array(text.text.utf8)
  }
}

/// A sign that a machine is there.
package struct FleetSign: Hashable, Sendable {
  package var run: FleetRun
  /// In nanoseconds since 1970, by the clock of the machine.
  package var time: Int64
  /// How many lines wait for the broker.
  package var waiting: Int64

  package init(run: FleetRun, time: Int64, waiting: Int64) {
    (self.run, self.time, self.waiting) = (run, time, waiting)
  }

  package var payload: [UInt8] {
    var text = LineBuffer()
    text.append(text: #"{"v":1,"run":"\#(run)","time":"#)
    text.appendTime(nanosecondsSince1970: time)
    text.append(text: #","waiting":\#(waiting)}"#)
    return Array(text.text.utf8)
  }
}
