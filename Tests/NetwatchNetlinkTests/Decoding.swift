import Netwatch

@testable import NetlinkWire
@testable import NetwatchNetlink

/// The decoder of rtnetlink in the form in which tests call it.
enum Decoding {
  struct Result: Hashable {
    let frame: NetlinkMessage
    /// The message in the frame. It is `ignored` if the frame is not a message of rtnetlink itself.
    let message: NetlinkDecoder.Message
    var range: Range<Int> { frame.record }
  }

  static func all(_ bytes: [UInt8], as context: NetlinkDecoder.Context = .notification) -> [Result] {
    var results: [Result] = []
    unsafe bytes.withUnsafeBytes { raw in
      let bytes = unsafe raw.bytes
      NetlinkMessage.forEach(in: bytes) { frame in
        let message = frame.kind == .payload ? NetlinkDecoder.message(frame, bytes, as: context) : .ignored
        results.append(Result(frame: frame, message: message))
      }
    }
    return results
  }

  static func messages(_ bytes: [UInt8], as context: NetlinkDecoder.Context = .notification) -> [NetlinkDecoder.Message]
  {
    all(bytes, as: context).map(\.message)
  }

  static func kinds(_ bytes: [UInt8]) -> [NetlinkMessage.Kind] { all(bytes).map(\.frame.kind) }

  /// Returns the link in a message; nil if the message is about something else.
  static func link(_ bytes: [UInt8]) -> LinkUpdate? {
    guard case .event(.link(let fact)) = messages(bytes).first else { return nil }
    return fact
  }
}
