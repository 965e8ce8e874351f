/// The name of a WiFi network: up to 32 bytes that a stranger has chosen, in no particular encoding.
///
/// The bytes are stored inline, so copying a path allocates nothing.
public struct SSID: Hashable, Sendable {
  /// The largest number of bytes in a name, by IEEE 802.11.
  public static let capacity = 32
  /// The bytes of the name, filled up with zeros, in two halves. One vector of 32 bytes would force its alignment on
  /// everything that contains a name. A name can contain zeros itself, so its length is kept.
  private var head = SIMD16<UInt8>()
  private var tail = SIMD16<UInt8>()
  private let length: UInt8

  /// Creates a name from bytes. Nil if there are more than 32 bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count <= Self.capacity else { return nil }
    length = UInt8(bytes.count)
    for (position, byte) in zip(0..<Self.capacity, bytes) { set(byte, at: position) }
  }

  /// Creates a name from bytes. Nil if there are more than 32 bytes.
  public init?(_ bytes: RawSpan) {
    guard bytes.byteCount <= Self.capacity else { return nil }
    length = UInt8(bytes.byteCount)
    for position in 0..<bytes.byteCount {
      set(unsafe bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self), at: position)
    }
  }

  /// The number of bytes, 0 to 32.
  public var count: Int { Int(length) }

  /// The byte at a position from 0 up to, but not including, ``count``. Any other position stops the program.
  public subscript(position: Int) -> UInt8 {
    precondition(position < count, "beyond the name's end")
    return position < 16 ? head[position] : tail[position - 16]
  }

  private mutating func set(_ byte: UInt8, at position: Int) {
    if position < 16 { head[position] = byte } else { tail[position - 16] = byte }
  }

  /// The bytes of the name.
  public var bytes: [UInt8] { (0..<count).map { self[$0] } }

  /// The name for people. Bytes that are not UTF-8 are replaced by U+FFFD; control characters are kept.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The name for programs: two hexadecimal digits per byte, in lower case.
  public var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Whether the network hides its name: it sends an empty one, or zeros instead.
  package var isHidden: Bool { head == SIMD16() && tail == SIMD16() }
}

extension SSID: CustomStringConvertible {
  /// The name for people, as ``text``.
  public var description: String { text }

  /// The name in quotation marks, without characters that could control the terminal.
  package var quoted: String { "“\(text.sanitizedForTerminal)”" }
}

/// The strength at which a wireless link receives its network.
public struct WiFiSignal: Hashable, Sendable {
  /// The power of the last reception in dBm (decibels over a milliwatt): about -30 beside the access point, -90 at the edge.
  public let dBm: Int

  /// Creates a signal from its power in dBm.
  public init(dBm: Int) { self.dBm = dBm }

  /// The signal in per cent: 0 at -100 dBm, 100 at -50 dBm, and linear between.
  ///
  /// No standard defines a percentage of a signal. These figures are those of Windows, by the documentation of
  /// `wlanSignalQuality` in `WLAN_ASSOCIATION_ATTRIBUTES`; NetworkManager and i3status have 100 at -20 dBm.
  public var percent: Int { 2 * (min(max(dBm, -100), -50) + 100) }
}

extension WiFiSignal: CustomStringConvertible {
  /// The power and the percentage, such as `-60 dBm (80 %)`.
  public var description: String { "\(dBm) dBm (\(percent) %)" }
}

/// The connection of this machine to an access point, as the driver reports it. Properties that the driver does not report,
/// or that were not requested, are nil.
public struct WiFiConnection: Hashable, Sendable {
  /// The strength at which the access point is received.
  public package(set) var signal: WiFiSignal?
  /// The centre of the channel in use, in megahertz.
  public package(set) var frequency: Int?
  /// The bit rate of the last received data, before overhead, in kilobits per second.
  public package(set) var receiveRate: Int?
  /// The bit rate of the last sent data, before overhead, in kilobits per second.
  public package(set) var transmitRate: Int?
  /// How often the link has joined another access point of the same network in the last hour, at most 1,000. Nil except in the news of
  /// such a roam.
  public package(set) var roamsInLastHour: Int?
  /// The address of the access point (BSSID): six bytes.
  package var accessPointAddress: UInt64?

  package init() {}

  /// The address of the access point (BSSID), as `02:00:00:00:01:00`. It reveals where this machine is: public lists have the
  /// places of most access points.
  public var accessPoint: String? {
    accessPointAddress.map { address in
      var text = LineBuffer(capacity: 32)
      text.append(hardwareAddress: address)
      return text.text
    }
  }

  /// The band of ``frequency``. Nil if the frequency is unknown or in no band of this list.
  public var band: Band? { frequency.flatMap(Band.init) }

  /// A range of frequencies that WiFi uses. The raw value is its usual name.
  public enum Band: String, Hashable, Sendable, CaseIterable {
    /// 902 to 928 MHz.
    case sub1GHz = "0.9 GHz"
    /// 2,400 to 2,500 MHz.
    case twoPointFourGHz = "2.4 GHz"
    /// 4,900 MHz up to, but not including, 5,945 MHz.
    case fiveGHz = "5 GHz"
    /// 5,945 to 7,125 MHz.
    case sixGHz = "6 GHz"
    /// 58,000 to 72,000 MHz.
    case sixtyGHz = "60 GHz"

    /// Finds the band of a frequency in megahertz, by the channels of IEEE 802.11 as the kernel's
    /// `ieee80211_freq_khz_to_channel` divides them.
    init?(frequency: Int) {
      switch frequency {
      case 902...928: self = .sub1GHz
      case 2_400...2_500: self = .twoPointFourGHz
      case 4_900..<5_945: self = .fiveGHz
      case 5_945...7_125: self = .sixGHz
      case 58_000...72_000: self = .sixtyGHz
      default: return nil
      }
    }
  }
}

extension LineBuffer {
  /// Appends a rate in kilobits per second as megabits, to one decimal: `433.3`.
  package mutating func append(megabits kilobits: Int) {
    let (whole, rest) = UInt64(clamping: kilobits).quotientAndRemainder(dividingBy: 1_000)
    appendDecimal(whole)
    guard rest >= 100 else { return }
    append(".")
    appendDecimal(rest / 100)
  }

  /// Appends six bytes as `02:00:00:00:01:00`.
  package mutating func append(hardwareAddress address: UInt64) {
    for byte in 0..<6 {
      if byte > 0 { append(":") }
      appendHex(UInt16(truncatingIfNeeded: address >> UInt64(40 - 8 * byte)) & 0xff, digits: 2)
    }
  }
}

/// What else is published about the WiFi network that carries the traffic. Each path has its name and its signal anyway.
public struct WiFiReporting: Hashable, Sendable {
  /// The changes of the signal that are published. The kernel announces none, so the driver is asked every 5 seconds while a
  /// WiFi network carries the traffic.
  public enum SignalChanges: String, Hashable, Sendable, CaseIterable {
    /// A change between 5 steps of 10 dB: below -90 dBm, from -90, from -80, from -70, from -60. The signal has to pass the
    /// edge of a step by 3 dB.
    case steps
    /// Every change.
    case all = "dbm"

    /// Returns whether a signal is published, given the one that was published last, or nil if none was.
    package func hasNews(_ signal: WiFiSignal, after published: WiFiSignal?) -> Bool {
      switch self {
      case .steps: published.map(signal.isInAnotherStep) ?? true
      case .all: signal != published
      }
    }
  }

  /// The changes of the signal that are published. Default: nil, so no path is published because of the signal alone.
  public var signal: SignalChanges?
  /// Whether a path includes the frequency and the rates of the connection. Default: false.
  public var includesDetails = false
  /// Whether a path includes the address of the access point, which reveals where the machine is. Default: false.
  public var includesAccessPoint = false

  /// Requests nothing.
  public init() {}

  /// Whether anything is requested. If so, a roam to another access point of the same network is also published.
  package var isWanted: Bool { self != WiFiReporting() }

  /// Returns everything that this or the other value requests.
  package func union(_ other: WiFiReporting) -> WiFiReporting {
    var union = self
    union.signal = signal == .all || other.signal == .all ? .all : signal ?? other.signal
    union.includesDetails = includesDetails || other.includesDetails
    union.includesAccessPoint = includesAccessPoint || other.includesAccessPoint
    return union
  }

  /// Returns the requested part of a connection.
  package func part(of connection: WiFiConnection) -> WiFiConnection {
    var part = connection
    if !includesDetails { (part.frequency, part.receiveRate, part.transmitRate) = (nil, nil, nil) }
    if !includesAccessPoint { part.accessPointAddress = nil }
    return part
  }
}

extension WiFiSignal {
  /// The edges between the steps, in dBm. No standard has such steps: each is a fifth of ``percent``.
  private static let edges = [-90, -80, -70, -60]
  /// The distance beyond an edge at which another step begins, in decibels: more than the noise of a machine that stands
  /// still.
  private static let hysteresis = 3

  fileprivate func isInAnotherStep(than published: WiFiSignal) -> Bool {
    Self.edges.contains { edge in
      published.dBm < edge ? dBm >= edge + Self.hysteresis : dBm < edge - Self.hysteresis
    }
  }
}

/// What the kernel's nl80211 reports about a link.
package struct WirelessLink: Hashable, Sendable {
  /// What the radio is used for.
  package enum Mode: Hashable, Sendable, CaseIterable {
    case station, p2pClient, adHoc, mesh, accessPoint, monitor, other
  }

  /// What the radio is used for.
  package let mode: Mode
  /// The name of the network that the link belongs to. Nil if it belongs to none, or if the name is not known.
  package let ssid: SSID?
  /// The element sent by the access point that marks its network as metered. Nil if there is none.
  package let metered: MeteredMark?
  /// Why the link has left its network, or has not joined one. Nil if it has joined one since, or that was not seen.
  package var ending: WiFiEnding?

  package init(mode: Mode, ssid: SSID? = nil, metered: MeteredMark? = nil) {
    self.mode = mode
    self.ssid = ssid
    self.metered = metered
  }

  /// Whether the link joins the network of an access point.
  package var isStation: Bool { mode == .station || mode == .p2pClient }

  /// Whether the link's traffic reaches others over a wireless network. An access point is the near end of one, and a monitor
  /// only listens.
  package var isMediumWiFi: Bool {
    switch mode {
    case .station, .p2pClient, .adHoc, .mesh: true
    case .accessPoint, .monitor, .other: false
    }
  }
}

extension WirelessLink.Mode {
  /// Creates a mode from NL80211_IFTYPE_* of <linux/nl80211.h>. Types that are not listed here are ``other``.
  package init(interfaceType: UInt32) {
    switch interfaceType {
    case 1: self = .adHoc
    case 2: self = .station
    // An access point, its links per station, and the group owner of a P2P group.
    case 3, 4, 9: self = .accessPoint
    case 6: self = .monitor
    case 7: self = .mesh
    case 8: self = .p2pClient
    default: self = .other
    }
  }
}

extension WiFiConnection: CustomStringConvertible {
  /// The known values, such as `-52 dBm, 5 GHz, 433 Mbit/s received, 520 Mbit/s sent`. The address of the access point is left out,
  /// because it reveals where this machine is.
  public var description: String {
    let parts = [
      signal.map { "\($0)" }, band?.rawValue, receiveRate.map { "\($0 / 1_000) Mbit/s received" },
      transmitRate.map { "\($0 / 1_000) Mbit/s sent" },
    ].compactMap { $0 }
    return parts.isEmpty ? "nothing known" : parts.joined(separator: ", ")
  }
}
