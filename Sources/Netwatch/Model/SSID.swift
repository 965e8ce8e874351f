/// The name of a WiFi network: 0 to 32 bytes that a stranger has chosen.
public struct SSID: Hashable, Sendable {
  private var storage = SIMD32<UInt8>()
  public private(set) var count = 0
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count <= 32 else { return nil }
    for (i, b) in bytes.enumerated() { storage[i] = b }
    count = bytes.count
  }
  public subscript(position: Int) -> UInt8 { storage[position] }
  public var bytes: [UInt8] { (0..<count).map { storage[$0] } }
  public var text: String { String(decoding: bytes, as: UTF8.self) }
}
