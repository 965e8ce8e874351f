import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// The state in Prometheus' text format, for node_exporter's textfile collector.
final class MetricsRenderer: LineRenderer {
  private let asksService: Bool

  init(asksService: Bool) { self.asksService = asksService }

  func prepare(on loop: EventLoop) {}

  func print(_ record: EventRecord, to output: StandardOutput) throws(CommandFailure) {
    let statistics = asksService ? ServiceStatistics.ofRunningService(ofOurNetwork: true) : nil
    let bytes = Array(text(record, statistics).utf8)
    try unsafe output.write(bytes.span.bytes)
  }

  private func text(_ record: EventRecord, _ statistics: ServiceStatistics?) -> String {
    let path = record.path
    var text = metric("netwatch_reachable", "gauge", "Whether the machine is reachable.")
    text += "netwatch_reachable \(path.isReachable ? 1 : 0)\n"
    text += metric("netwatch_status", "gauge", "1 for the kind of link that carries the traffic.")
    for medium in Medium.allCases {
      text += "netwatch_status{medium=\"\(medium.rawValue)\"} \(path.medium == medium ? 1 : 0)\n"
    }
    if let internet = record.internet {
      text += metric("netwatch_internet", "gauge", "1 for what a probe of the internet has found.")
      for access in InternetAccess.allCases {
        text += "netwatch_internet{access=\"\(access.rawValue)\"} \(access == internet ? 1 : 0)\n"
      }
    }
    text += metric("netwatch_in_flight", "gauge", "Requests that run.")
    text += "netwatch_in_flight \(record.activity.inFlight)\n"
    text += trafficText(path)
    // Only a service lives long enough to count.
    guard let statistics else { return text }
    text += metric("netwatch_transitions_total", "counter", "Changes of reachability.")
    text += "netwatch_transitions_total \(statistics.transitions)\n"
    text += metric("netwatch_netlink_overruns_total", "counter", "How often the kernel dropped messages.")
    text += "netwatch_netlink_overruns_total \(statistics.netlinkOverruns)\n"
    return text
  }

  /// Of the link that carries the traffic; nothing where none does, or the kernel does not tell.
  private func trafficText(_ path: NetworkPath) -> String {
    guard let (index, name) = path.carrier, let sample = (try? LinkCounters())?.sample(index, name) else { return "" }
    let label = "{interface=\"\(name.text.labelValue)\"}"
    return metric("netwatch_receive_bytes_total", "counter", "What the link that carries the traffic has received.")
      + "netwatch_receive_bytes_total\(label) \(sample.receivedBytes)\n"
      + metric("netwatch_transmit_bytes_total", "counter", "What the link that carries the traffic has sent.")
      + "netwatch_transmit_bytes_total\(label) \(sample.sentBytes)\n"
  }

  private func metric(_ name: String, _ type: String, _ help: String) -> String {
    "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }
}

extension String {
  /// As Prometheus' text format writes it between quotes.
  fileprivate var labelValue: String {
    reduce(into: "") { text, character in
      switch character {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      default: text.append(character)
      }
    }
  }
}
