import Netwatch
import Testing

@testable import NetwatchStream

@Suite struct ClientMessageTests {
  private static func read(_ text: String) throws(ProtocolError) -> ClientMessage {
    try ClientMessage(Array(text.utf8)[...])
  }

  @Test(arguments: [
    (#"{"begin":"a"}"#, ClientMessage.begin("a", label: nil)),
    (#" { "label" : "up", "begin" : "a" , "later":[1] } "#, .begin("a", label: "up")), (#"{"end":"a"}"#, .end("a")),
    (#"{"events":false}"#, .events(false)), (#"{"events":true}"#, .events(true)), (#"{"ping":1}"#, .ping),
    (#"{"stats":1}"#, .stats), (#"{"signal":true}"#, .signal(.steps)), (#"{"signal":"dbm"}"#, .signal(.all)),
    (#"{"signal":false}"#, .signal(nil)), (#"{"wifi_details":true}"#, .wifiDetails(true)),
    (#"{"bssid":false}"#, .accessPoint(false)), (#"{"quality":true}"#, .quality(true)),
    (#"{"quality":false}"#, .quality(false)),
  ])
  func `each message of a client is read and written`(_ text: String, _ message: ClientMessage) throws {
    #expect(try Self.read(text) == message)
    #expect(try Self.read(message.line) == message)
  }

  @Test(arguments: [
    "", "x", "[]", "1", "{}", #"{"begin":1}"#, #"{"begin":""}"#, #"{"begin":null}"#, #"{"begin":"a","label":1}"#,
    #"{"end":{}}"#, #"{"events":1}"#, #"{"signal":"steps"}"#, #"{"signal":1}"#, #"{"wifi_details":null}"#,
    #"{"bssid":"x"}"#, #"{"quality":1}"#, #"{"Begin":"a"}"#, #"{"begin":"a"} {"end":"a"}"#,
  ])
  func `what is not understood does no harm`(_ text: String) {
    #expect {
      try Self.read(text)
    } throws: { error in
      if case .notUnderstood = error as? ProtocolError { true } else { false }
    }
  }

  @Test func `limits are in bytes`() throws {
    let id = String(repeating: "é", count: 32)
    let label = String(repeating: "x", count: 256)
    #expect(try Self.read(#"{"begin":"\#(id)","label":"\#(label)"}"#) == .begin(id, label: label))
    for text in [#"{"begin":"\#(id)x"}"#, #"{"end":"\#(id)x"}"#, #"{"begin":"a","label":"\#(label)x"}"#] {
      #expect {
        try Self.read(text)
      } throws: { error in
        if case .limit = error as? ProtocolError { true } else { false }
      }
    }
  }
}
