/// What the driver says of this machine's connection to an access point. What it does not say, or nobody has asked for, is nil.
public struct WiFiConnection: Hashable, Sendable {
  /// How strongly the access point is heard.
  public package(set) var signal: WiFiSignal?
  /// The middle of the channel on which the two talk, in megahertz.
  public package(set) var frequency: Int?
  /// How fast the last data came, before anything is taken off for headers and waiting, in kilobits per second.
  public package(set) var receiveRate: Int?
  /// How fast the last data went, before anything is taken off for headers and waiting, in kilobits per second.
  public package(set) var transmitRate: Int?
  /// The address of the access point: six bytes.
  package var accessPointAddress: UInt64?

  package init() {}

  /// The address of the access point (BSSID), as `02:00:00:00:01:00`. It tells where this machine is: public lists have the
  /// places of most access points.
  public var accessPoint: String? {
    accessPointAddress.map { address in
      var text = LineBuffer(capacity: 32)
      text.append(hardwareAddress: address)
      return text.text
    }
  }

  /// The band of ``frequency``, as people call it; nil where it has no name here.
  public var band: Band? { frequency.flatMap(Band.init) }

  /// A range of frequencies in which WiFi may be used.
  public enum Band: String, Hashable, Sendable, CaseIterable {
    case sub1GHz = "0.9 GHz"
    case twoPointFourGHz = "2.4 GHz"
    case fiveGHz = "5 GHz"
    case sixGHz = "6 GHz"
    case sixtyGHz = "60 GHz"

    /// By the channels of IEEE 802.11, as the kernel's `ieee80211_freq_khz_to_channel` divides them.
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
  /// Appends a rate in kilobits per second as megabits, to a tenth: `433.3`.
  package mutating func append(megabits kilobits: Int) {
    let (whole, rest) = UInt64(clamping: kilobits).quotientAndRemainder(dividingBy: 1_000)
    appendDecimal(whole)
    guard rest >= 100 else { return }
    append(".")
    appendDecimal(rest / 100)
  }

  /// Appends six bytes, as `02:00:00:00:01:00`.
  package mutating func append(hardwareAddress address: UInt64) {
    for byte in 0..<6 {
      if byte > 0 { append(":") }
      appendHex(UInt16(truncatingIfNeeded: address >> UInt64(40 - 8 * byte)) & 0xff, digits: 2)
    }
  }
}
