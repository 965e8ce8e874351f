import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// Prints the state in Prometheus' text format, for the textfile collector of node_exporter.
final class MetricsRenderer: LineRenderer {
  private let asksService: Bool

  init(asksService: Bool) { self.asksService = asksService }

  func print(_ record: EventRecord, _ names: LineNames, to output: StandardOutput) throws(PlainError) -> Bool {
    let statistics = asksService ? ServiceStatistics.ofRunningService(ofOurNetwork: true) : nil
    try output.write(buildText + text(record, statistics))
    return true
  }

  /// Returns what shows that the writer lives: the version of the program, and the time.
  private var buildText: String {
    gauge("build_info", "The version of netwatch, which is always 1.", [("{version=\"\(NetwatchVersion.text)\"}", 1)])
      + time("sample_timestamp", "The time of these metrics.", KernelClock.wall.nanoseconds / 1_000_000)
  }

  private func text(_ record: EventRecord, _ statistics: ServiceStatistics?) -> String {
    let path = record.path
    var text = gauge("reachable", "Whether the machine is reachable.", [("", path.isReachable ? 1 : 0)])
    text += reasonText(path, statistics)
    text += gauge(
      "status", "1 for the kind of link that carries the traffic.",
      Medium.allCases.map { ("{medium=\"\($0.rawValue)\"}", path.medium == $0 ? 1 : 0) })
    if let internet = record.internet {
      text += gauge(
        "internet", "1 for what a probe of the internet has found.",
        InternetAccess.allCases.map { ("{access=\"\($0.rawValue)\"}", $0 == internet ? 1 : 0) })
    }
    text += gauge("in_flight", "Requests that run.", [("", record.activity.inFlight)])
    text += kindsText(record.activity)
    text += trafficText(path) + wifiText(path.wifi?.connection) + qualityText(record.carrierQuality)
    text += cableText(record.cable)
    // Only a service runs long enough to have counters.
    guard let statistics else { return text }
    text += counter("transitions", "Changes of reachability.", "", statistics.transitions)
    text += counter("netlink_overruns", "How often the kernel dropped messages.", "", statistics.netlinkOverruns)
    if let change = statistics.lastChangeMilliseconds {
      text += time("last_change_timestamp", "When the machine last began or stopped being reachable.", change)
    }
    return text + outagesText(statistics)
  }

  /// Returns the reason why the machine is not reachable. Each reason is listed, so that none of them goes stale.
  private func reasonText(_ path: NetworkPath, _ statistics: ServiceStatistics?) -> String {
    // A service has seen what was lost; a single look sees only what is missing.
    let present = path.status == .notReachable ? statistics?.reason ?? path.reason : nil
    let known = ReachabilityReason.outages
    let others = present.map { known.contains($0) ? [] : [$0] } ?? []
    return gauge(
      "unreachable_reason", "1 for the reason why the machine is not reachable.",
      (known + others).map { ("{reason=\"\($0.rawValue)\"}", $0 == present ? 1 : 0) })
  }

  /// Returns the outages that a service has counted. Each reason is listed even before its first outage, because a series that
  /// begins with 1 has not increased.
  private func outagesText(_ statistics: ServiceStatistics) -> String {
    guard let counts = statistics.outages else { return "" }
    let reasons = ReachabilityReason.outages
    let others = ReachabilityReason.allCases.filter { counts[$0] != nil && !reasons.contains($0) }
    return header(
      "outages_total", "How often the machine stopped being reachable, by reason.", "counter")
      + (reasons + others).map { "netwatch_outages_total{reason=\"\($0.rawValue)\"} \(counts[$0] ?? 0)\n" }.joined()
      + header(
        "outage_seconds_total", "How long the machine was not reachable, without the time of suspends.", "counter")
      + "netwatch_outage_seconds_total \(Self.seconds(Int64(clamping: statistics.outageMilliseconds)))\n"
  }

  /// Returns the parts of `in_flight`. Parts that are not counted are left out.
  private func kindsText(_ activity: EventRecord.Activity) -> String {
    let kinds = [("requests", max(activity.requests, 0)), ("tcp", activity.connections), ("udp", activity.datagrams)]
    return gauge(
      "in_flight_requests", "Requests that run: those that programs announce, TCP connections, and what goes over UDP.",
      kinds.compactMap { kind, count in count.map { ("{kind=\"\(kind)\"}", $0) } })
  }

  /// Returns the counters of the links that carry the traffic. Empty if there is no such link, or the kernel does not report
  /// them.
  private func trafficText(_ path: NetworkPath) -> String {
    guard let counters = try? LinkCounters() else { return "" }
    let links = path.carriers.compactMap { counters.sample($0.index, $0.name)?.traffic }
    if links.isEmpty { return "" }
    func counter(_ name: String, _ help: String, _ count: (LinkTraffic) -> UInt64) -> String {
      header(name, help, "counter")
        + links.map { "netwatch_\(name){interface=\"\($0.interfaceName.labelValue)\"} \(count($0))\n" }.joined()
    }
    return counter("receive_bytes_total", "What a link that carries the traffic has received.") { $0.receivedBytes }
      + counter("transmit_bytes_total", "What a link that carries the traffic has sent.") { $0.sentBytes }
  }

  /// Returns the figures of the WiFi network that carries the traffic. Figures that the driver does not report are left out.
  private func wifiText(_ connection: WiFiConnection?) -> String {
    func gauge(_ name: String, _ help: String, _ value: Int?) -> String {
      value.map { self.gauge("wifi_\(name)", "\(help) the WiFi network that carries the traffic.", [("", $0)]) } ?? ""
    }
    return gauge("signal_dbm", "The signal of", connection?.signal?.dBm)
      + gauge("frequency_hertz", "The frequency of", connection?.frequency.map { $0 * 1_000_000 })
      + gauge("receive_bits_per_second", "The rate of the last data from", connection?.receiveRate.map { $0 * 1_000 })
      + gauge("transmit_bits_per_second", "The rate of the last data to", connection?.transmitRate.map { $0 * 1_000 })
  }

  /// Returns the quality of the link that carries the traffic. Figures that are not known are left out.
  private func qualityText(_ quality: LinkQuality?) -> String {
    func gauge(_ name: String, _ help: String, _ value: Double?) -> String {
      guard let value else { return "" }
      return header(name, help, "gauge") + "netwatch_\(name) \(value)\n"
    }
    return gauge(
      "round_trip_seconds", "The round-trip time over the link that carries the traffic.",
      quality?.tenthsOfMilliseconds.map { Double($0) / 10_000 })
      + gauge(
        "loss_ratio", "The share of the sent data that is lost on the link that carries the traffic.",
        quality?.tenthsOfPercent.map { Double($0) / 1_000 })
  }

  /// Returns what is known of the cable of the link that carries the traffic, or else of one without a carrier.
  private func cableText(_ cable: CableState?) -> String {
    guard let cable else { return "" }
    let label = "interface=\"\(cable.interfaceName.labelValue)\""
    func gauge(_ name: String, _ help: String, _ value: Int?) -> String {
      value.map { self.gauge("link_\(name)", help, [("{\(label)}", $0)]) } ?? ""
    }
    return gauge("speed_bits_per_second", "The speed of the cable.", cable.megabitsPerSecond.map { $0 * 1_000_000 })
      + gauge(
        "possible_bits_per_second", "The highest speed that both ends of the cable offer.",
        cable.possibleMegabitsPerSecond.map { $0 * 1_000_000 })
      + gauge(
        "full_duplex", "Whether both ends of the cable send at the same time.", cable.isFullDuplex.map { $0 ? 1 : 0 })
      + (cable.absence.map { absence in
        self.gauge(
          "no_carrier_reason", "1 for the reason why there is no carrier.",
          CableState.Absence.allCases.map { ("{\(label),reason=\"\($0.rawValue)\"}", $0 == absence ? 1 : 0) })
      } ?? "")
  }

  private func gauge(_ name: String, _ help: String, _ samples: [(label: String, value: Int)]) -> String {
    header(name, help, "gauge")
      + samples.map { "netwatch_\(name)\($0.label) \($0.value)\n" }.joined()
  }

  private func time(_ name: String, _ help: String, _ milliseconds: Int64) -> String {
    header("\(name)_seconds", help, "gauge") + "netwatch_\(name)_seconds \(Self.seconds(milliseconds))\n"
  }

  /// Returns a number of seconds with three digits after the point.
  private static func seconds(_ milliseconds: Int64) -> String {
    let (seconds, rest) = max(milliseconds, 0).quotientAndRemainder(dividingBy: 1_000)
    return "\(seconds).\("\(1_000 + rest)".dropFirst())"
  }

  private func counter(_ name: String, _ help: String, _ label: String, _ value: UInt64) -> String {
    header("\(name)_total", help, "counter") + "netwatch_\(name)_total\(label) \(value)\n"
  }

  private func header(_ name: String, _ help: String, _ type: String) -> String {
    "# HELP netwatch_\(name) \(help)\n# TYPE netwatch_\(name) \(type)\n"
  }
}

extension String {
  /// The text as Prometheus' text format writes it between quotes. Characters that could control a
  /// terminal become question marks.
  fileprivate var labelValue: String {
    // By scalars: a quote and a combining mark behind it are one character.
    sanitizedForTerminal.unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}
