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
    (#"{"quality":false}"#, .quality(false)), (#"{"running":0}"#, .running(RunningRequests())),
    (#"{"running":2}"#, .running(RunningRequests([nil, nil]))),
    (
      #"{"running":4,"labels":[{"label":"up","requests":2},{"label":"a\u0000\"","requests":1}]}"#,
      .running(RunningRequests(["up", nil, "a\0\"", "up"]))
    ),
  ])
  func `each message of a client is read and written`(_ text: String, _ message: ClientMessage) throws {
    #expect(try Self.read(text) == message)
    #expect(try Self.read(message.line) == message)
  }

  @Test(arguments: [
    "", "x", "[]", "1", "{}", #"{"begin":1}"#, #"{"begin":""}"#, #"{"begin":null}"#, #"{"begin":"a","label":1}"#,
    #"{"end":{}}"#, #"{"events":1}"#, #"{"signal":"steps"}"#, #"{"signal":1}"#, #"{"wifi_details":null}"#,
    #"{"running":-1}"#, #"{"running":1.5}"#, #"{"running":"1"}"#, #"{"running":9999999999}"#,
    #"{"running":1,"labels":{}}"#, #"{"running":1,"labels":[1]}"#, #"{"running":1,"labels":[{"label":"a"}]}"#,
    #"{"running":1,"labels":[{"requests":1}]}"#, #"{"running":1,"labels":[{"label":"a","requests":2}]}"#,
    #"{"running":1,"labels":[{"label":"a","requests":0}]}"#,
    #"{"running":1,"labels":[{"label":"a","requests":1},{"label":"b","requests":1}]}"#,
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
    for text in [
      #"{"begin":"\#(id)x"}"#, #"{"end":"\#(id)x"}"#, #"{"begin":"a","label":"\#(label)x"}"#, #"{"running":4097}"#,
      #"{"running":1,"labels":[{"label":"\#(label)x","requests":1}]}"#,
    ] {
      #expect {
        try Self.read(text)
      } throws: { error in
        if case .limit = error as? ProtocolError { true } else { false }
      }
    }
  }

  @Test func `however many requests run, and whatever their labels are, the message fits a line`() throws {
    let long = (0..<60).map { "\(String(repeating: "\u{1}", count: 200))\($0)" }
    let requests = RunningRequests(long + Array(repeating: "much", count: 9) + [String(repeating: "é", count: 200)])
    let line = ClientMessage.running(requests).line
    #expect(line.utf8.count <= ClientMessage.lineLimit)
    guard case .running(let read) = try Self.read(line) else { throw PlainError("another message") }
    #expect(read.count == 70)
    #expect(read.labels["much"] == 9)
    #expect(RunningRequests(Array(repeating: String?.none, count: 5_000)).count == 4_096)
    #expect(RunningRequests([String(repeating: "é", count: 200)]).labels.keys.first?.utf8.count == 256)
  }
}
