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
