import Netwatch
import NetwatchStream

/// A field that a template can contain.
enum BarField: String, CaseIterable {
  case icon, name, status, medium, interface, ssid, signal
  case signalPower = "signal_dbm"
  case frequency, band
  case receiveRate = "rx_mbps"
  case transmitRate = "tx_mbps"
  case bssid
  case ip, ipv4, ipv6, gateway, vpn
  case vpnKind = "vpn_kind"
  case vpnMark = "vpn_mark"
  case internet
  case internetMark = "internet_mark"
  case portalURL = "portal_url"
  case stage
  case activity
  case inFlight = "in_flight"
  case reason
  case down, up
  case downBytes = "down_bytes"
  case upBytes = "up_bytes"
  case unit
  case graph
  case traffic
  case roundTripTime = "rtt"
  case loss
  case speed

  /// Whether the field shows the traffic of a link.
  var isOfTraffic: Bool {
    switch self {
    case .down, .up, .downBytes, .upBytes, .unit, .graph, .traffic: true
    default: false
    }
  }
}

extension BarField {
  /// Whether somebody else may have chosen the value.
  var isChosenByStrangers: Bool {
    switch self {
    case .name, .interface, .ssid, .vpn, .portalURL: true
    default: false
    }
  }

  /// The properties of the WiFi network that the field needs, apart from the name. Rates also need each change of the signal,
  /// so that the bar shows current ones.
  var wifi: WiFiReporting {
    var wifi = WiFiReporting()
    switch self {
    case .signal, .signalPower: wifi.signal = .steps
    case .frequency, .band: wifi.includesDetails = true
    case .receiveRate, .transmitRate: (wifi.signal, wifi.includesDetails) = (.all, true)
    case .bssid: wifi.includesAccessPoint = true
    default: break
    }
    return wifi
  }
}

extension LineBuffer {
  /// Appends the value of a field, in which no character could control the output. Appends nothing if the field has no value.
  mutating func append(_ field: BarField, of state: BarState) {
    let path = state.path
    switch field {
    case .icon: append(state.icons.mark(of: state.condition))
    case .name: appendName(of: state)
    case .status: append(text: path.status.rawValue)
    case .medium: append(text: path.medium?.rawValue ?? "")
    case .interface: append(clean: path.kernelName)
    case .ssid: append(clean: path.verdict.ssid)
    case .signal:
      guard let percent = path.wifi?.signal?.percent else { return }
      // Pads the number to the width of 100.
      for least in [10, 100] where percent < least { append(state.padding) }
      appendDecimal(UInt64(clamping: percent))
      append("%")
    case .signalPower:
      guard let signal = path.wifi?.signal else { return }
      if signal.dBm < 0 { append("-") }
      appendDecimal(UInt64(signal.dBm.magnitude))
    case .frequency: if let frequency = path.wifi?.connection.frequency { appendDecimal(UInt64(clamping: frequency)) }
    case .band: append(text: path.wifi?.connection.band?.rawValue ?? "")
    case .receiveRate: if let rate = path.wifi?.connection.receiveRate { append(megabits: rate) }
    case .transmitRate: if let rate = path.wifi?.connection.transmitRate { append(megabits: rate) }
    case .bssid: if let address = path.wifi?.connection.accessPointAddress { append(hardwareAddress: address) }
    case .ip: (path.ipv4 ?? path.ipv6)?.address.write(to: &self)
    case .ipv4: path.ipv4?.address.write(to: &self)
    case .ipv6: path.ipv6?.address.write(to: &self)
    case .gateway: (path.ipv4?.gateway ?? path.ipv6?.gateway)?.write(to: &self)
    case .vpn: append(clean: path.vpn?.kernelName)
    case .vpnKind: append(text: path.vpn?.kind.rawValue ?? "")
    case .vpnMark: if path.vpn != nil { append(state.icons.vpn) }
    case .internet: append(text: state.record.internet?.rawValue ?? "")
    case .internetMark: append(state.internetMark)
    case .portalURL: append(text: state.record.loginPage?.description ?? "")
    case .stage: append(text: state.record.stages?.failing?.rawValue ?? "")
    case .activity: if state.isBusy { append(state.icons.activity) }
    case .inFlight: if state.record.activity.inFlight > 0 { appendDecimal(UInt64(state.record.activity.inFlight)) }
    case .reason: append(text: state.record.reason)
    case .down: append(rate: state.traffic?.receivedBitsPerSecond.map(state.units.rate), of: state)
    case .up: append(rate: state.traffic?.sentBitsPerSecond.map(state.units.rate), of: state)
    case .downBytes: append(rate: state.traffic?.receivedBytes, of: state)
    case .upBytes: append(rate: state.traffic?.sentBytes, of: state)
    case .unit: if path.isReachable { append(state.units.name) }
    case .traffic: appendTraffic(of: state)
    case .roundTripTime: append(tenths: state.record.carrierQuality?.tenthsOfMilliseconds, "ms", places: 4, of: state)
    case .loss: append(tenths: state.record.carrierQuality?.tenthsOfPercent, "%", places: 3, of: state)
    case .speed:
      if path.isReachable, let speed = state.record.cable?.megabitsPerSecond {
        appendDecimal(UInt64(clamping: speed))
        append("Mb/s")
      }
    case .graph: if path.isReachable { state.graph.write(to: &self, state.icons.levels) }
    }
  }

  /// Appends a rate in four places. Appends nothing if the path is not reachable.
  private mutating func append(rate: UInt64?, of state: BarState) {
    if state.path.isReachable { append(rate: rate, padding: state.padding) }
  }

  /// Appends a number in `places` places, and its unit. A number below 10 has one decimal, a larger one none, and an unknown
  /// one is `-`. Appends nothing if the path is not reachable.
  private mutating func append(tenths: Int?, _ unit: StaticString, places: Int, of state: BarState) {
    guard state.path.isReachable else { return }
    if let tenths {
      let isSmall = tenths < 100
      let number = min((tenths + 5) / 10, 9_999)
      for least in [10, 100, 1_000].prefix(places - 1) where isSmall ? least > 100 : number < least {
        append(state.padding)
      }
      if isSmall { append(tenths: tenths) } else { appendDecimal(UInt64(clamping: number)) }
    } else {
      for _ in 1..<places { append(state.padding) }
      append("-")
    }
    append(unit)
  }

  private mutating func appendTraffic(of state: BarState) {
    guard state.path.isReachable else { return }
    append(state.icons.down)
    append(.down, of: state)
    append(" ")
    append(state.icons.up)
    append(.up, of: state)
  }

  /// Appends the name of the WiFi network, otherwise that of the interface. If the path is not reachable, appends a text that
  /// says so.
  private mutating func appendName(of state: BarState) {
    switch state.condition {
    case .online, .portal, .noInternet:
      let start = count
      append(.ssid, of: state)
      if count == start { append(.interface, of: state) }
    case .offline: append("not reachable")
    case .unknown: append("unknown")
    }
  }
}
