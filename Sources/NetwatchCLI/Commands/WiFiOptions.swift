import ArgumentParser
import Netwatch

/// The options for what lines report about the WiFi network.
struct WiFiOptions: SharedOptions {
  @Flag(
    name: .customLong("wifi-details"),
    help: ArgumentHelp(
      "Also print the frequency, the band and the bit rates of the WiFi network. In text, -v does "
        + "this too."))
  var details = false

  @Flag(help: "Also print the address of the WiFi network's access point, which reveals where you are.")
  var bssid = false

  var given: String? { details ? "--wifi-details" : bssid ? "--bssid" : nil }

  /// Returns the options that request this reporting, each with its value.
  static func words(of wifi: WiFiReporting) -> [(key: String, value: String?)] {
    (wifi.signal.map { [("signal", $0.rawValue)] } ?? []) + (wifi.includesDetails ? [("wifi-details", nil)] : [])
      + (wifi.includesAccessPoint ? [("bssid", nil)] : [])
  }

  /// Returns what lines report about the WiFi network.
  ///
  /// - Parameters:
  ///   - signal: The changes of the signal that are reported. Default: nil, none.
  ///   - shown: The properties that a bar shows.
  ///   - saysAll: Whether lines report all details.
  func reporting(
    signal: WiFiReporting.SignalChanges? = nil, shown: WiFiReporting, saysAll: Bool
  ) -> WiFiReporting {
    var given = WiFiReporting()
    given.signal = signal
    given.includesDetails = details || saysAll
    given.includesAccessPoint = bssid
    return given.union(shown)
  }
}

extension WiFiReporting.SignalChanges {
  /// Reads the value of `--signal`.
  @Sendable static func named(_ text: String) throws -> WiFiReporting.SignalChanges {
    guard let changes = Self(rawValue: text) else {
      throw ValidationError("--signal takes steps or dbm, or no value; '\(text)' is neither.")
    }
    return changes
  }
}
