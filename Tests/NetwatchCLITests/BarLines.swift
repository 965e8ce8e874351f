import Foundation
import Netwatch
import NetwatchStream

@testable import NetwatchCLI

/// Records and lines with which the bars are tested.
enum BarLines {
  static func record(
    ssid: [UInt8]? = Array("Café".utf8), interface: [UInt8] = Array("wlan0".utf8), medium: Medium = .wifi,
    signal: Int? = -64, vpn: String? = nil, activity: ActivityState = .inactive, inFlight: Int = 0,
    ipv4: String? = "192.168.1.23", ipv6: String? = nil, isExpensive: Bool = false, internet: InternetAccess? = nil
  ) -> EventRecord {
    var verdict = NetworkPath.Verdict(status: ReachabilityStatus(of: medium))
    verdict.medium = medium
    verdict.interfaceName = unsafe InterfaceName(interface.span.bytes)
    verdict.interfaceIndex = 2
    verdict.cost.expense = isExpensive ? .modem : nil
    verdict.ssid = ssid.flatMap { SSID($0) }
    verdict.vpn = vpn.map { VPN(kernelName: InterfaceName($0), interfaceIndex: 7, kind: .wireguard, families: [.ipv4]) }
    verdict.ipv4 = ipv4.flatMap(InternetAddress.init).map {
      .init(address: $0, gateway: InternetAddress("192.168.1.1"), interfaceIndex: 2)
    }
    verdict.ipv6 = ipv6.flatMap(InternetAddress.init).map {
      .init(address: $0, gateway: InternetAddress("fe80::1"), interfaceIndex: 2)
    }
    var connection = WiFiConnection()
    connection.signal = signal.map { WiFiSignal(dBm: $0) }
    let path = NetworkPath(verdict: verdict, reason: .initial, interfaces: [], connection: connection)
    var record = record(path, activity, inFlight)
    record.internet = internet
    return record
  }

  static func offline(_ reason: ReachabilityReason = .noCarrier, activity: ActivityState = .inactive) -> EventRecord {
    record(NetworkPath(verdict: .notReachable, reason: reason, interfaces: []), activity, 0)
  }

  private static func record(_ path: NetworkPath, _ activity: ActivityState, _ inFlight: Int) -> EventRecord {
    var record = EventRecord(
      sequence: 1, nanosecondsSince1970: 0, monotonicNanoseconds: 0, event: .initial, path: path)
    record.activity.state = activity
    record.activity.inFlight = inFlight
    return record
  }

  static func look(
    _ template: String? = nil, icons: IconSet = .unicode, width: Int? = nil, hidden: [BarLook.Occasion] = [],
    color: Bool = true
  ) throws -> BarLook {
    BarLook(
      template: try template.map { try BarTemplate($0) }, icons: icons, maximumWidth: width, hidden: hidden,
      usesColor: color)
  }

  /// Returns the line without its newline. A line of i3bar keeps its comma.
  static func line(
    _ format: BarFormat, _ record: EventRecord, _ look: BarLook? = nil
  ) throws -> String {
    var writer = try BarLineWriter(format, look ?? BarLines.look())
    writer.write(record)
    let text = writer.line.text
    guard text.hasSuffix("\n"), !text.dropLast().contains("\n") else { throw BarGrammar.Fault("not a line: \(text)") }
    return String(text.dropLast())
  }

  /// Returns the visible part of a name: UTF-8 without characters that control text. This function is independent of
  /// the code that is tested.
  static func visible(_ bytes: [UInt8]) -> String {
    let steering: Set<Unicode.GeneralCategory> = [
      .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned,
    ]
    var text = ""
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars
    where !steering.contains(scalar.properties.generalCategory) || scalar == "\u{200c}" || scalar == "\u{200d}" {
      text.unicodeScalars.append(scalar)
    }
    return text
  }
}
