import Netwatch

@testable import NetwatchNetlink

/// The decoder as tests call it.
enum Decoding {
  struct Result: Hashable {
    let header: NetlinkDecoder.Header
    let message: NetlinkDecoder.Message
    let range: Range<Int>
  }

  static func all(_ bytes: [UInt8], as context: NetlinkDecoder.Context = .notification) -> [Result] {
    var results: [Result] = []
    unsafe bytes.withUnsafeBytes { raw in
      unsafe NetlinkDecoder.decode(raw.bytes, as: context) { header, message, range in
        results.append(Result(header: header, message: message, range: range))
      }
    }
    return results
  }

  static func messages(_ bytes: [UInt8], as context: NetlinkDecoder.Context = .notification) -> [NetlinkDecoder.Message]
  {
    all(bytes, as: context).map(\.message)
  }

  /// Of one message that is a link.
  static func link(_ bytes: [UInt8]) -> LinkFact? {
    guard case .event(.link(let fact)) = messages(bytes).first else { return nil }
    return fact
  }
}
