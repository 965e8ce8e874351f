/// A version of TLS. Versions before 1.2 are not supported (RFC 8996).
public enum TLSVersion: Int, Comparable, Sendable {
  /// TLS 1.2 (RFC 5246).
  case v1_2 = 2
  /// TLS 1.3 (RFC 8446).
  case v1_3 = 3

  /// Whether the first version is older than the second.
  public static func < (one: TLSVersion, other: TLSVersion) -> Bool { one.rawValue < other.rawValue }
}

extension TLSVersion: CustomStringConvertible {
  /// The name of the version, such as `TLS 1.3`.
  public var description: String { "TLS 1.\(rawValue)" }
}
