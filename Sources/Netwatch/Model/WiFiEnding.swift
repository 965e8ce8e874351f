/// Why a radio has left its WiFi network, or has not joined one, as the kernel reports it (nl80211).
public struct WiFiEnding: Hashable, Sendable {
  /// What has happened.
  public enum Kind: Hashable, Sendable {
    /// The access point has ended the connection, for a reason of IEEE 802.11 (table 9-49); 0 if it gives none.
    case endedByAccessPoint(reason: Int)
    /// A program or the driver of this machine has ended the connection, for a reason of IEEE 802.11; 0 if it gives none.
    case endedByThisMachine(reason: Int)
    /// The access point was not heard any more.
    case lost
    /// The access point has refused that this machine joins, with a status of IEEE 802.11 (table 9-50).
    case refused(status: Int)
    /// The access point has not answered an attempt to join.
    case unanswered
  }

  /// What has happened.
  public let kind: Kind

  package init(_ kind: Kind) { self.kind = kind }
}

extension WiFiEnding: CustomStringConvertible {
  /// What has happened, as a sentence without its end, such as `the access point has ended the connection (reason 5: it has too many
  /// stations)`.
  public var description: String {
    switch kind {
    case .endedByAccessPoint(0): "the access point has ended the connection"
    case .endedByAccessPoint(let code):
      "the access point has ended the connection (\(Self.named("reason", code, Self.reasons[code])))"
    case .endedByThisMachine(3), .endedByThisMachine(8), .endedByThisMachine(0), .endedByThisMachine(1):
      "this machine has ended the connection"
    case .endedByThisMachine(let code):
      "this machine has ended the connection (\(Self.named("reason", code, Self.reasons[code])))"
    case .lost: "the access point was not heard any more"
    case .refused(let code):
      "the access point has refused the connection (\(Self.named("status", code, Self.statuses[code])))"
    case .unanswered: "the access point has not answered"
    }
  }

  private static func named(_ kind: String, _ code: Int, _ words: String?) -> String {
    "\(kind) \(code)" + (words.map { ": " + $0 } ?? "")
  }

  /// Reason codes of IEEE 802.11-2020, table 9-49, as far as access points and drivers use them.
  private static let reasons: [Int: String] = [
    2: "the authentication is not valid any more", 3: "it leaves the network", 4: "nothing was sent for too long",
    5: "it has too many stations", 6: "this machine was not authenticated", 7: "this machine had not joined",
    8: "it leaves the network", 9: "this machine was not authenticated", 13: "an element is invalid",
    14: "a frame was forged",
    15: "the handshake of the password timed out; the password may be wrong",
    16: "the handshake of the group key timed out",
    17: "the handshake has other elements than the beacon", 18: "the group cipher is invalid",
    19: "the pairwise cipher is invalid", 20: "the key management is invalid",
    23: "the IEEE 802.1X authentication failed",
    24: "the policy forbids the cipher", 34: "too many frames were lost", 39: "the peer has not answered in time",
  ]

  /// Status codes of IEEE 802.11-2020, table 9-50, as far as access points use them.
  private static let statuses: [Int: String] = [
    1: "no reason is given", 12: "not allowed", 13: "this kind of authentication is not supported",
    15: "the password may be wrong", 16: "the authentication timed out", 17: "it has too many stations",
    18: "the rates do not fit", 30: "it is to be tried again later", 34: "the channel is too bad", 37: "declined",
    40: "an element is invalid", 41: "the group cipher is invalid", 42: "the pairwise cipher is invalid",
    43: "the key management is invalid", 53: "the cached key is not known any more",
  ]
}
