import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite struct ResumeMachineTests {
  private static let tag = "\"a\""
  private static let url = "http://host/file"

  /// A download of ten bytes, of which five are there, that has asked for the rest.
  private static func asked(total: Int64? = 10) -> ResumeMachine {
    var machine = ResumeMachine(url: url)
    let data = ResumeData(url: url, offset: 0, validator: .entityTag(tag), total: total)
    _ = machine.handle(.resumed)
    let effects = machine.handle(.loaded(data, size: 5))
    #expect(effects == [.ask(ResumeRange(offset: 5, validator: .entityTag(tag)), isSuspended: false)])
    return machine
  }

  @Test func `a 206 with the right part is appended`() {
    var machine = Self.asked()
    #expect(machine.handle(.answered(ResumeAnswer(status: 206, length: 5, contentRange: "bytes 5-9/10"))) == [])
    #expect(machine.offset == 5)
    #expect(machine.handle(.received(5)) == [])
    #expect(machine.handle(.bodyEnded(isWhole: true)) == [.install])
    #expect(machine.handle(.legEnded(.success)) == [.complete])
  }

  @Test(arguments: [
    "bytes 4-9/10", "bytes 6-9/10", "bytes 5-8/10", "bytes 5-9/*", "bytes */10", "bytes 5-10/11", nil, "nonsense",
  ])
  func `a 206 with another part is refused, and the next download begins anew`(_ range: String?) {
    var machine = Self.asked()
    let effects = machine.handle(.answered(ResumeAnswer(status: 206, length: 5, contentRange: range)))
    #expect(effects.first == .forget)
    guard case .refuse = effects.last else {
      Issue.record("\(effects)")
      return
    }
    #expect(machine.data == nil)
    #expect(machine.handle(.bodyEnded(isWhole: false)) == [])
    #expect(machine.handle(.legEnded(.failure)) == [.discard, .complete])
  }

  @Test func `a 206 of another file is refused`() {
    var machine = Self.asked()
    let answer = ResumeAnswer(status: 206, contentRange: "bytes 5-9/10", entityTag: "\"b\"")
    #expect(machine.handle(.answered(answer)) == [.forget, .refuse(.changed)])
  }

  @Test func `a 200 begins anew`() {
    var machine = Self.asked()
    let answer = ResumeAnswer(status: 200, length: 7, entityTag: "\"b\"")
    #expect(machine.handle(.answered(answer)) == [.truncate, .record])
    #expect(machine.offset == 0)
    #expect(machine.total == 7)
    #expect(machine.data?.validator == .entityTag("\"b\""))
  }

  @Test func `a 416 with the same length is the end`() {
    var machine = Self.asked(total: nil)
    #expect(machine.handle(.answered(ResumeAnswer(status: 416, contentRange: "bytes */5"))) == [])
    #expect(machine.handle(.bodyEnded(isWhole: true)) == [.install])
    #expect(machine.handle(.legEnded(.success)) == [.complete])
    #expect(machine.offset == 5 && machine.total == 5)
  }

  @Test(arguments: ["bytes */4", "bytes */10", nil])
  func `a 416 with another length begins anew, once`(_ range: String?) {
    var machine = Self.asked()
    #expect(machine.handle(.answered(ResumeAnswer(status: 416, contentRange: range))) == [])
    #expect(machine.handle(.bodyEnded(isWhole: true)) == [.forget])
    #expect(machine.handle(.legEnded(.success)) == [.ask(nil, isSuspended: false)])
    #expect(machine.handle(.answered(ResumeAnswer(status: 416, contentRange: range))) == [.refuse(.status(416))])
  }

  @Test(arguments: [100, 201, 204, 302, 304, 400, 403, 404, 412, 500, 503])
  func `any other status fails, and what has come is kept`(_ status: Int) {
    var machine = Self.asked()
    #expect(machine.handle(.answered(ResumeAnswer(status: status))) == [.refuse(.status(status))])
    #expect(machine.handle(.bodyEnded(isWhole: false)) == [])
    #expect(machine.handle(.legEnded(.failure)) == [.complete])
    #expect(machine.data?.offset == 5)
  }

  @Test func `more than there is, is refused, and less, too`() {
    var machine = Self.asked()
    _ = machine.handle(.answered(ResumeAnswer(status: 206, contentRange: "bytes 5-9/10")))
    var short = machine
    #expect(machine.handle(.received(6)) == [.forget, .refuse(.tooLong)])
    #expect(short.handle(.received(4)) == [])
    #expect(short.handle(.bodyEnded(isWhole: true)) == [.record, .refuse(.tooShort)])
  }

  @Test func `a pause breaks off, and the next request asks for the rest`() {
    var machine = Self.asked()
    _ = machine.handle(.answered(ResumeAnswer(status: 206, contentRange: "bytes 5-9/10")))
    _ = machine.handle(.received(2))
    #expect(machine.handle(.paused) == [.breakOff])
    #expect(machine.handle(.paused) == [])
    #expect(machine.handle(.bodyEnded(isWhole: false)) == [.record])
    let range = ResumeRange(offset: 7, validator: .entityTag(Self.tag))
    #expect(machine.handle(.legEnded(.cancelled)) == [.ask(range, isSuspended: true)])
    #expect(machine.isPaused)
    #expect(machine.handle(.resumed) == [.begin])
  }

  @Test func `data of another URL, or of a file that was cut, is not used`() throws {
    let data = try #require(ResumeData(url: Self.url, offset: 5, validator: .entityTag(Self.tag), total: 10))
    for (url, size) in [("http://host/other", Int64(5)), (Self.url, 4), (Self.url, 11)] {
      var machine = ResumeMachine(url: url)
      #expect(machine.handle(.loaded(data, size: size)) == [.ask(nil, isSuspended: true)])
    }
  }

  @Test(arguments: [UInt64(1), 2, 3, 4])
  func `whatever a server does and whenever the process ends, what is put into place is a whole file`(_ seed: UInt64) {
    var world = ResumeWorld(seed: seed)
    for round in 0..<FuzzRounds.count(default: 100_000) / 4 {
      world.step()
      if let fault = world.fault {
        Issue.record("seed \(seed), round \(round): \(fault)")
        return
      }
    }
    #expect(world.installed > 100)
    #expect(world.appended > 100)
    #expect(world.begunAnew > 50)
  }
}
