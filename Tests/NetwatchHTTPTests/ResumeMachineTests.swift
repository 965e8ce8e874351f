import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite struct ResumeMachineTests {
  private static let tag = "\"a\""
  private static let url = "http://host/file"

  /// Returns the machine of a download that has five of ten bytes and has requested the rest.
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

  private static let tagged = ResumeAnswer(status: 200, length: 10, entityTag: tag, lastModified: nil)

  @Test(arguments: [
    "bytes 4-9/10", "bytes 6-9/10", "bytes */10", "bytes 5-10/11", "bytes 5-10/*", "bytes 5-9/11", nil, "nonsense",
    "items 5-9/10", "bytes 5-3/10",
  ])
  func `a 206 with another part is broken off, and all is asked for while what has come stays`(_ range: String?) {
    var machine = Self.asked()
    let effects = machine.handle(.answered(ResumeAnswer(status: 206, length: 5, contentRange: range)))
    #expect(effects.count == 1)
    guard case .refuse = effects.first else {
      Issue.record("\(effects)")
      return
    }
    #expect(machine.handle(.bodyEnded(isWhole: false)) == [])
    #expect(machine.handle(.legEnded(.failure)) == [.ask(nil, isSuspended: false)])
    #expect(machine.handle(.answered(Self.tagged)) == [.beginFresh])
    var broken = machine
    #expect(machine.handle(.received(10)) == [.promoteFresh])
    #expect(machine.handle(.bodyEnded(isWhole: true)) == [.install])
    #expect(machine.handle(.legEnded(.success)) == [.complete])

    #expect(broken.handle(.received(4)) == [])
    #expect(broken.handle(.bodyEnded(isWhole: false)) == [.dropFresh])
    #expect(broken.handle(.legEnded(.failure)) == [.complete])
    #expect(broken.data?.offset == 5)
  }

  @Test func `two odd answers are the end, and what has come stays`() {
    for second in [
      ResumeAnswer(status: 206, contentRange: "bytes 0-9/10"), ResumeAnswer(status: 500), ResumeAnswer(status: 416),
    ] {
      var machine = Self.asked()
      _ = machine.handle(.answered(ResumeAnswer(status: 206, contentRange: "nonsense")))
      _ = machine.handle(.bodyEnded(isWhole: false))
      #expect(machine.handle(.legEnded(.failure)) == [.ask(nil, isSuspended: false)])
      let effects = machine.handle(.answered(second))
      guard case .refuse = effects.last, effects.count == 1 else {
        Issue.record("\(effects)")
        return
      }
      #expect(machine.handle(.bodyEnded(isWhole: false)) == [.dropFresh])
      #expect(machine.handle(.legEnded(.failure)) == [.complete])
      #expect(machine.data?.offset == 5)
    }
  }

  @Test func `a shorter part is appended, and the rest is asked for`() {
    for range in ["bytes 5-7/10", "bytes 5-7/*"] {
      var machine = Self.asked(total: nil)
      #expect(machine.handle(.answered(ResumeAnswer(status: 206, length: 3, contentRange: range))) == [])
      #expect(machine.room == 3)
      #expect(machine.handle(.received(3)) == [])
      #expect(machine.handle(.bodyEnded(isWhole: true)) == [.record])
      let rest = ResumeRange(offset: 8, validator: .entityTag(Self.tag))
      #expect(machine.handle(.legEnded(.success)) == [.ask(rest, isSuspended: false)])
      #expect(machine.handle(.answered(ResumeAnswer(status: 206, length: 2, contentRange: "bytes 8-9/10"))) == [])
      #expect(machine.handle(.received(2)) == [])
      #expect(machine.handle(.bodyEnded(isWhole: true)) == [.install])
    }
  }

  @Test func `a part of a file whose length is not known is the last one when there is no more`() {
    for (answer, isEnd) in [
      (ResumeAnswer(status: 416, contentRange: "bytes */10"), true),
      (ResumeAnswer(status: 416, entityTag: Self.tag), true),
      (ResumeAnswer(status: 416, contentRange: "bytes */*", entityTag: Self.tag), true),
      (ResumeAnswer(status: 416), false),
      (ResumeAnswer(status: 416, contentRange: "bytes */11"), false),
      (ResumeAnswer(status: 416, contentRange: "bytes */10", entityTag: "\"b\""), false),
    ] {
      var machine = Self.asked(total: nil)
      _ = machine.handle(.answered(ResumeAnswer(status: 206, length: 5, contentRange: "bytes 5-9/*")))
      _ = machine.handle(.received(5))
      #expect(machine.handle(.bodyEnded(isWhole: true)) == [.record])
      let rest = ResumeRange(offset: 10, validator: .entityTag(Self.tag))
      #expect(machine.handle(.legEnded(.success)) == [.ask(rest, isSuspended: false)])
      #expect(machine.handle(.answered(answer)) == [])
      #expect(machine.handle(.bodyEnded(isWhole: true)) == (isEnd ? [.install] : []))
      #expect(machine.handle(.legEnded(.success)) == (isEnd ? [.complete] : [.ask(nil, isSuspended: false)]))
    }
  }

  @Test func `a 206 of another file is refused, and all is asked for`() {
    var machine = Self.asked()
    let answer = ResumeAnswer(status: 206, contentRange: "bytes 5-9/10", entityTag: "\"b\"")
    #expect(machine.handle(.answered(answer)) == [.refuse(.changed)])
    #expect(machine.handle(.bodyEnded(isWhole: false)) == [])
    #expect(machine.handle(.legEnded(.failure)) == [.ask(nil, isSuspended: false)])
  }

  @Test func `a 200 begins anew in a new file`() {
    var machine = Self.asked()
    let answer = ResumeAnswer(status: 200, length: 7, entityTag: "\"b\"")
    #expect(machine.handle(.answered(answer)) == [.beginFresh])
    #expect(machine.offset == 0)
    #expect(machine.total == 7)
    #expect(machine.data?.validator == .entityTag("\"b\""))
    // The server has reported that the old file is outdated, so the beginning of the new one is worth more.
    #expect(machine.handle(.received(2)) == [])
    #expect(machine.handle(.bodyEnded(isWhole: false)) == [.promoteFresh])
    #expect(machine.data?.offset == 2)
  }

  @Test func `a 200 that cannot go on later leaves the old file, until it is whole`() {
    var machine = Self.asked()
    #expect(machine.handle(.answered(ResumeAnswer(status: 200, length: 7))) == [.beginFresh])
    #expect(machine.handle(.received(6)) == [])
    var broken = machine
    #expect(machine.handle(.received(1)) == [])
    #expect(machine.handle(.bodyEnded(isWhole: true)) == [.install])
    #expect(broken.handle(.bodyEnded(isWhole: false)) == [.dropFresh])
    #expect(broken.data?.offset == 5)
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
    #expect(machine.handle(.bodyEnded(isWhole: true)) == [])
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

  @Test func `more than there is, is refused, and where less has come the rest is asked for`() {
    var machine = Self.asked()
    _ = machine.handle(.answered(ResumeAnswer(status: 206, contentRange: "bytes 5-9/10")))
    var short = machine
    #expect(machine.handle(.received(3)) == [])
    #expect(machine.handle(.received(3)) == [.cut(5), .refuse(.tooLong)])
    #expect(machine.handle(.bodyEnded(isWhole: false)) == [])
    #expect(machine.handle(.legEnded(.failure)) == [.ask(nil, isSuspended: false)])
    var empty = short
    #expect(short.handle(.received(4)) == [])
    #expect(short.handle(.bodyEnded(isWhole: true)) == [.record])
    let rest = ResumeRange(offset: 9, validator: .entityTag(Self.tag))
    #expect(short.handle(.legEnded(.success)) == [.ask(rest, isSuspended: false)])
    #expect(empty.handle(.bodyEnded(isWhole: true)) == [.refuse(.tooShort)])
    #expect(empty.handle(.legEnded(.failure)) == [.complete])
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
    for (url, size) in [
      ("http://host/other", Int64(5)), ("http://host/other?file", 5), ("https://host/file", 5), (Self.url, 4),
      (Self.url, 11),
    ] {
      var machine = ResumeMachine(url: url)
      #expect(machine.handle(.loaded(data, size: size)) == [.ask(nil, isSuspended: true)])
    }
  }

  @Test func `a URL that was signed anew goes on if there is an entity tag`() throws {
    let date = ResumeData.Validator.lastModified("Sun, 06 Nov 1994 08:49:37 GMT")
    for (validator, goesOn) in [(ResumeData.Validator.entityTag(Self.tag), true), (date, false)] {
      let data = try #require(ResumeData(url: Self.url + "?sig=1", offset: 0, validator: validator, total: 10))
      for url in [Self.url + "?sig=2", Self.url] {
        var machine = ResumeMachine(url: url)
        let range = goesOn ? ResumeRange(offset: 5, validator: validator) : nil
        #expect(machine.handle(.loaded(data, size: 5)) == [.ask(range, isSuspended: true)])
        #expect(machine.data?.url == (goesOn ? url : nil))
      }
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
    #expect(world.parts > 50)
  }
}
