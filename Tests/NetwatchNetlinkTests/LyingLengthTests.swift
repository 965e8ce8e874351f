import CLibNetlink
import Netwatch
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

@Suite struct LyingLengthTests {
  @Test func `messages behind one another are read in order, with their places`() {
    let bytes = Corpus.all.flatMap { $0 + [UInt8](repeating: 0, count: (4 - $0.count % 4) % 4) }
    let results = Decoding.all(bytes)
    #expect(results.count == Corpus.all.count)
    #expect(results.map(\.range.count) == Corpus.all.map(\.count))
    #expect(results.map(\.message) == Corpus.all.flatMap { Decoding.messages($0) })
  }

  @Test func `a datagram that is cut anywhere is read up to there`() {
    let first = Corpus.addressV4
    for message in Corpus.all {
      for count in 0..<message.count {
        #expect(Decoding.messages(first + message[..<count]) == Decoding.messages(first))
      }
    }
  }

  @Test func `a message that says it is shorter is read as far as it says`() {
    for message in Corpus.all {
      for length in 0...message.count {
        var bytes = message
        bytes.replaceSubrange(0..<4, with: MessageBuilder.raw(UInt32(length)))
        for context in [NetlinkDecoder.Context.notification, .answer] {
          let first = Decoding.all(bytes, as: context).first
          #expect((first == nil) == (length < 16))
          if let first { #expect(first.range == 0..<length) }
        }
      }
    }
  }

  @Test func `a message that says it is longer is left out`() {
    for message in Corpus.all {
      for length in [UInt32(message.count + 1), 0x7fff_ffff, 0x8000_0000, .max] {
        #expect(Decoding.all(MessageBuilder.raw(length) + message[4...]).isEmpty)
      }
    }
  }

  @Test func `every pair of bytes may lie about a length`() {
    for message in Corpus.all {
      for offset in stride(from: 16, to: message.count - 1, by: 2) {
        for lie in [UInt16(0), 1, 3, 4, 5, 0x7fff, .max] {
          var bytes = message
          bytes.replaceSubrange(offset..<(offset + 2), with: MessageBuilder.raw(lie))
          #expect(Decoding.all(bytes).count == 1)
          #expect(Decoding.all(bytes, as: .answer).count == 1)
        }
      }
    }
  }

  @Test func `an attribute that is too long hides what stands behind it, no more`() throws {
    var bytes = MessageBuilder.link(3) {
      $0.attribute(IFLA_IFNAME, text: "eth0")
      $0.attribute(IFLA_OPERSTATE, number: UInt8(6))
    }
    let operationalState = bytes.count - 8
    bytes.replaceSubrange(operationalState..<(operationalState + 2), with: MessageBuilder.raw(UInt16(6 + 8)))
    let fact = try #require(Decoding.link(bytes))
    #expect((fact.name, fact.isComplete) == ("eth0", false))
  }

  @Test func `nested lengths may not reach beyond what nests them`() throws {
    let kind = MessageBuilder.raw(UInt16(200)) + MessageBuilder.raw(UInt16(IFLA_INFO_KIND)) + Array("veth".utf8)
    let bytes = MessageBuilder.link(3) {
      $0.attribute(IFLA_LINKINFO, kind)
      $0.attribute(IFLA_IFNAME, text: "eth0")
    }
    let fact = try #require(Decoding.link(bytes))
    #expect((fact.kind, fact.name) == (nil, "eth0"))
  }
}
