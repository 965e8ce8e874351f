import Netwatch

/// Writes an ``EventRecord`` as one JSON line, version 1 of the schema.
///
/// The buffer is used again for each line, so nothing is allocated once it has grown to the longest.
public struct JSONLineWriter: Sendable {
  /// The last line, its newline included.
  public private(set) var line: [UInt8] = []

  public init() {
    line.reserveCapacity(1024)
  }

  /// Makes ``line`` say `record`.
  public mutating func write(_ record: EventRecord) {
    line.removeAll(keepingCapacity: true)
    line.append(#"{"v":1,"seq":"#)
    line.appendDecimal(record.sequence)
    line.append(#","time":""#)
    line.append(UTCTime(record.time))
    line.append(#"","mono_ns":"#)
    line.appendDecimal(UInt64(clamping: record.monotonicTime.wholeNanoseconds))
    line.append(#","event":""#)
    line.append(contentsOf: record.event.rawValue.utf8)
    line.append(#"","reason":""#)
    line.append(contentsOf: record.path.reason.rawValue.utf8)
    line.append(#"","reachability":{"#)
    write(record.path)
    if record.listsInterfaces {
      line.append(#"},"interfaces":["#)
      for (position, interface) in record.path.interfaces.enumerated() {
        if position > 0 { line.append(",") }
        write(interface, in: record.path)
      }
      line.append(#"],"activity":{"state":""#)
    } else {
      line.append(#"},"activity":{"state":""#)
    }
    line.append(contentsOf: record.activity.state.utf8)
    line.append(#"","visible":"#)
    line.append(record.activity.isVisible ? "true" : "false")
    line.append(#","in_flight":"#)
    line.appendDecimal(UInt64(clamping: record.activity.inFlight))
    line.append("}}\n")
  }

  private mutating func write(_ path: NetworkPath) {
    line.append(#""status":""#)
    line.append(contentsOf: path.status.rawValue.utf8)
    line.append(#"","medium":"#)
    writeString(path.medium?.rawValue)
    line.append(#","interface":"#)
    writeString(path.interfaceName)
    line.append(#","index":"#)
    if let index = path.interfaceIndex { line.appendDecimal(UInt64(clamping: index)) } else { line.append("null") }
    line.append(#","expensive":"#)
    line.append(!path.isReachable ? "null" : path.isExpensive ? "true" : "false")
    line.append(#","vpn":null,"ipv4":"#)
    write(path.ipv4)
    line.append(#","ipv6":"#)
    write(path.ipv6)
    line.append(#","wifi":null"#)
  }

  private mutating func write(_ family: NetworkPath.FamilyPath?) {
    guard let family else { return line.append("null") }
    line.append(#"{"address":""#)
    family.address.write(to: &line)
    line.append(#"","gateway":"#)
    if let gateway = family.gateway {
      line.append("\"")
      gateway.write(to: &line)
      line.append("\"}")
    } else {
      line.append("null}")
    }
  }

  private mutating func write(_ interface: Interface, in path: NetworkPath) {
    line.append(#"{"name":"#)
    writeString(interface.name)
    line.append(#","index":"#)
    line.appendDecimal(UInt64(clamping: interface.index))
    line.append(#","medium":""#)
    line.append(contentsOf: interface.medium.rawValue.utf8)
    line.append(#"","status":""#)
    line.append(contentsOf: path.status(of: interface).rawValue.utf8)
    line.append(#"","operational_state":""#)
    line.append(interface.operationalState.name)
    line.append(#"","addresses":["#)
    for (position, address) in interface.addresses.enumerated() {
      line.append(position > 0 ? ",\"" : "\"")
      address.address.write(to: &line)
      line.append("/")
      line.appendDecimal(UInt64(address.prefixLength))
      line.append("\"")
    }
    line.append("]}")
  }

  /// A string of a stranger's making: control characters are escaped, those of Latin-1 too, for terminals obey them.
  private mutating func writeString(_ text: String?) {
    guard let text else { return line.append("null") }
    line.append("\"")
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x22, 0x5c:
        line.append("\\")
        line.append(UInt8(scalar.value))
      case 0..<0x20, 0x7f..<0xa0:
        line.append("\\u00")
        line.appendHexDigit(UInt8(scalar.value >> 4))
        line.appendHexDigit(UInt8(scalar.value & 0xf))
      default:
        line.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
    }
    line.append("\"")
  }
}

extension OperationalState {
  /// As `ip link` has it, in lower case.
  package var name: StaticString {
    switch self {
    case .unknown: "unknown"
    case .notPresent: "not-present"
    case .down: "down"
    case .lowerLayerDown: "lower-layer-down"
    case .testing: "testing"
    case .dormant: "dormant"
    case .up: "up"
    }
  }
}

extension [UInt8] {
  @inline(__always) mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { unsafe append(contentsOf: $0) }
  }

  fileprivate mutating func appendHexDigit(_ digit: UInt8) {
    append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
  }

  /// RFC 3339 in UTC, to the microsecond.
  fileprivate mutating func append(_ time: UTCTime) {
    appendDecimal(UInt64(time.year), digits: 4)
    append("-")
    appendDecimal(UInt64(time.month), digits: 2)
    append("-")
    appendDecimal(UInt64(time.day), digits: 2)
    append("T")
    appendDecimal(UInt64(time.hour), digits: 2)
    append(":")
    appendDecimal(UInt64(time.minute), digits: 2)
    append(":")
    appendDecimal(UInt64(time.second), digits: 2)
    append(".")
    appendDecimal(UInt64(time.microsecond), digits: 6)
    append("Z")
  }

  private mutating func appendDecimal(_ value: UInt64, digits: Int) {
    if digits > 1 { appendDecimal(value / 10, digits: digits - 1) }
    append(UInt8(ascii: "0") + UInt8(value % 10))
  }
}

extension Duration {
  fileprivate var wholeNanoseconds: Int64 {
    components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
  }
}
