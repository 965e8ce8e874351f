import Netwatch

/// A question that a name server receives.
struct Question: Hashable {
  enum Kind: UInt16 {
    case a = 1
    case aaaa = 28
  }

  let id: [UInt8]
  let name: String
  let kind: Kind
  /// The name, its type and its class, in the bytes of the question.
  let bytes: [UInt8]

  init?(_ message: [UInt8]) {
    guard message.count > 12 else { return nil }
    id = Array(message[..<2])
    var labels: [String] = []
    var place = 12
    while place < message.count, message[place] > 0 {
      let end = place + 1 + Int(message[place])
      guard end < message.count else { return nil }
      labels.append(String(decoding: message[(place + 1)..<end], as: UTF8.self))
      place = end
    }
    guard place + 5 <= message.count,
      let kind = Kind(rawValue: UInt16(message[place + 1]) << 8 | UInt16(message[place + 2]))
    else { return nil }
    name = labels.joined(separator: ".")
    self.kind = kind
    bytes = Array(message[12..<(place + 5)])
  }
}

enum Record {
  case address(InternetAddress, timeToLive: UInt32)
  /// An alias. The records after it belong to the other name.
  case alias(String, timeToLive: UInt32)
}

/// The messages with which a name server answers.
enum Answer {
  enum Code: UInt8 {
    case fine = 0
    case malformed = 1
    case failed = 2
    case noSuchName = 3
    case refused = 5
  }

  /// Returns an answer with those of `records` that the question is about.
  static func bytes(
    _ question: Question, _ records: [Record] = [], _ code: Code = .fine, isCut: Bool = false
  ) -> [UInt8] {
    var owner = question.name
    var count: UInt16 = 0
    var body: [UInt8] = []
    for record in records {
      switch record {
      case .address(.v4(let bits), let time) where question.kind == .a:
        body += resource(owner, 1, time, bits.bytes)
      case .address(.v6(let bits), let time) where question.kind == .aaaa:
        body += resource(owner, 28, time, bits.bytes)
      case .alias(let other, let time):
        body += resource(owner, 5, time, name(other))
        owner = other
      case .address: continue
      }
      count += 1
    }
    return question.id + [isCut ? 0x83 : 0x81, 0x80 | code.rawValue, 0, 1] + count.bytes + [0, 0, 0, 0]
      + question.bytes + body
  }

  private static func resource(_ owner: String, _ type: UInt16, _ time: UInt32, _ data: [UInt8]) -> [UInt8] {
    name(owner) + type.bytes + [0, 1] + time.bytes + UInt16(data.count).bytes + data
  }

  private static func name(_ text: String) -> [UInt8] {
    text.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
  }
}

extension FixedWidthInteger {
  /// The bytes of the number, with the most significant byte first.
  fileprivate var bytes: [UInt8] {
    stride(from: bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> Self($0)) }
  }
}
