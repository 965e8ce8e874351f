import Testing

@testable import Netwatch

@Suite struct RequestSetTests {
  @Test func `an id counts once`() {
    var requests = RequestSet()
    requests.began("a")
    requests.began("a")
    #expect(requests.count == 1)
    requests.ended("a")
    requests.ended("a")
    #expect(requests.count == 0)
  }

  @Test func `an end that comes first ends the late begin`() {
    var requests = RequestSet()
    requests.ended("a")
    requests.ended("a")
    requests.began("a")
    #expect(requests.count == 0)
    requests.began("a")
    #expect(requests.count == 1)
  }

  @Test func `suspended, cancelled twice, resumed`() {
    var requests = RequestSet()
    requests.began(7)
    requests.ended(7)
    requests.ended(7)
    requests.began(7)
    #expect(requests.count == 1)
  }

  @Test func `early ends are remembered for the newest 1,024 ids`() {
    var requests = RequestSet()
    for id in UInt64(0)...1_024 { requests.ended(RequestID(id)) }
    requests.began(0)
    #expect(requests.count == 1)
    for id in UInt64(1)...1_024 { requests.began(RequestID(id)) }
    #expect(requests.count == 1)
  }

  @Test func `what opts out runs uncounted`() {
    var requests = RequestSet()
    requests.began("poll", isIndicated: false)
    requests.began("poll")
    #expect(requests.count == 0)
    requests.ended("poll")
    requests.began("poll")
    #expect(requests.count == 1)
    requests.began("poll", isIndicated: false)
    #expect(requests.count == 1)
  }

  @Test func `an old ticket does not end a new request`() {
    var requests = RequestSet()
    let first = requests.begin("first")
    requests.end(first)
    let second = requests.begin("second")
    requests.end(first)
    #expect(requests.count == 1)
    #expect(requests.labels == ["second"])
    requests.end(second)
    #expect(requests.count == 0)
    #expect(requests.labels == [])
  }

  @Test func `recent values forget the oldest key`() {
    var recent = RecentValues<Int, String>(capacity: 2)
    recent[1] = "a"
    recent[2] = "b"
    recent[1] = "c"
    recent[3] = "d"
    #expect((recent[1], recent[2], recent[3]) == (nil, "b", "d"))
  }
}
