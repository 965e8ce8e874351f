import NetwatchTestSupport

@testable import NetwatchHTTP

/// A simulation around a ``ResumeMachine``: a server whose file changes and that makes every mistake that can be
/// detected, a user who pauses, resumes and cancels, and a process that is killed. The bytes of a file are numbers that
/// state their version and position.
struct ResumeWorld {
  private enum Leg {
    case suspended(ResumeRange?)
    case running(ResumeRange?)
    case body([Int], isWhole: Bool)
  }

  private static let url = "http://host/file"

  private var random: SplitMix
  private var machine = ResumeMachine(url: url)
  private var leg: Leg?
  private var isBrokenOff = false
  private var isSuccess = false
  // The state of the server: the version of its file, and the length of each version.
  private var version = 1
  private var lengths = [1: 30]
  // The state of the disk.
  private var file: [Int] = []
  /// The new file, which is received while the old bytes are kept. Nil unless a download has begun again.
  private var fresh: [Int]?
  private var recorded: ResumeData?

  private(set) var fault: String?
  private(set) var installed = 0
  private(set) var appended = 0
  private(set) var begunAnew = 0
  /// The number of answers with less than what was requested.
  private(set) var parts = 0
  private var kills = 0

  init(seed: UInt64) {
    random = SplitMix(seed: seed)
    send(.resumed)
    send(.loaded(nil, size: 0))
  }

  private var length: Int { lengths[version] ?? 0 }
  private func content(_ version: Int) -> [Int] { (0..<(lengths[version] ?? 0)).map { version * 1_000 + $0 } }
  private var tag: String { "\"\(version)\"" }
  private var date: String {
    "Sun, 06 Nov 1994 \(10 + version / 2_500 % 14):\(10 + version / 50 % 50):\(10 + version % 50) GMT"
  }

  mutating func step() {
    switch Int.random(in: 0..<40, using: &random) {
    case 0: changeFile()
    case 1: kill()
    case 2: send(.paused)
    case 3, 4: send(.resumed)
    case 5: if random.oneIn(10) { send(random.oneIn(2) ? .stopped : .cancelled) }
    default: resume()
    }
    check()
  }

  private mutating func changeFile() {
    version += 1
    lengths[version] = random.oneIn(3) ? length : Int.random(in: 0...40, using: &random)
  }

  private mutating func kill() {
    kills += 1
    leg = nil
    fresh = nil
    begin()
  }

  private mutating func begin() {
    machine = ResumeMachine(url: Self.url)
    (isBrokenOff, isSuccess) = (false, false)
    send(.resumed)
    send(.loaded(recorded, size: Int64(file.count)))
  }

  private mutating func check() {
    if let total = machine.total, machine.offset > total { fault = "\(machine.offset) of \(total)" }
    if case .receiving = machine.phase, machine.offset != Int64((fresh ?? file).count) {
      fault = "offset \(machine.offset)"
    }
  }

  // MARK: The transfer

  private mutating func resume() {
    if isBrokenOff { return end(.cancelled, isWhole: false) }
    switch leg {
    case .running(let range):
      if random.oneIn(10) { return end(.failure, isWhole: false) }
      answer(range)
    case .body(let rest, let isWhole):
      if rest.isEmpty { return end(isWhole ? .success : .failure, isWhole: isWhole) }
      if random.oneIn(12) { return end(.failure, isWhole: false) }
      take(rest, isWhole)
    case .suspended, nil: break
    }
  }

  private mutating func take(_ rest: [Int], _ isWhole: Bool) {
    let count = Int.random(in: 1...rest.count, using: &random)
    leg = .body(Array(rest.dropFirst(count)), isWhole: isWhole)
    guard case .receiving = machine.phase else { return }
    if let room = machine.room, room < count {
      // The sink refuses the bytes before it writes them.
      let before = kills
      send(.received(Int64(count)))
      return kills == before ? end(.failure, isWhole: false) : ()
    }
    if fresh != nil { fresh? += rest.prefix(count) } else { file += rest.prefix(count) }
    // The worst moment for a kill is now: the bytes are written, but not yet counted.
    if random.oneIn(200) { return kill() }
    send(.received(Int64(count)))
  }

  private mutating func end(_ end: ResumeMachine.LegEnd, isWhole: Bool) {
    leg = nil
    isBrokenOff = false
    let before = kills
    let isRefused = send(.bodyEnded(isWhole: isWhole))
    guard kills == before else { return }
    send(.legEnded(isRefused ? .failure : end))
  }

  private mutating func answer(_ range: ResumeRange?) {
    let offset = range.map { Int($0.offset) } ?? 0
    var answer = ResumeAnswer(status: 200, date: "Mon, 07 Nov 1994 08:49:37 GMT")
    let kind = version % 4
    answer.entityTag = kind == 0 ? tag : kind == 1 ? "W/\(tag)" : nil
    answer.lastModified = kind == 3 ? nil : date
    let isSame =
      range.map { $0.validator.text == answer.entityTag || $0.validator.text == answer.lastModified } ?? false
    var body = content(version)
    answer.length = random.oneIn(3) ? nil : Int64(body.count)
    // Some servers ignore If-Range. The machine can detect this if the validators of the answer contradict those of the
    // request.
    let tells = range.map { answer.contradicts($0.validator) } ?? false
    if range != nil, isSame || (tells && random.oneIn(3)) {
      if offset >= length {
        answer.status = 416
        answer.contentRange = random.oneIn(6) ? nil : "bytes */\(length)"
        body = [-1]
      } else {
        answer.status = 206
        body = Array(body[offset...])
        answer.contentRange = "bytes \(offset)-\(length - 1)/\(length)"
        answer.length = Int64(body.count)
      }
    }
    spoil(&answer, &body, offset)
    // A transport cannot distinguish a cut from the end of a body without a length. Here a cut is always reported as a
    // cut.
    let isCut = random.oneIn(8) && !body.isEmpty
    if isCut { body.removeLast(Int.random(in: 1...body.count, using: &random)) }
    leg = .body(body, isWhole: !isCut)
    let before = file.count
    if send(.answered(answer)) { return end(.failure, isWhole: false) }
    if case .receiving = machine.phase {
      if answer.status == 206 { appended += 1 } else if before > 0 { begunAnew += 1 }
    }
  }

  private mutating func spoil(_ answer: inout ResumeAnswer, _ body: inout [Int], _ offset: Int) {
    switch Int.random(in: 0..<24, using: &random) {
    case 0:
      answer.status = [500, 404, 304, 204 + 199].randomElement(using: &random) ?? 500
      body = [-1, -2]
    case 1: if answer.status == 206 { answer.contentRange = "bytes \(offset + 1)-\(length)/\(length + 1)" }
    case 2: if answer.status == 206 { answer.contentRange = nil }
    case 3, 6, 7, 8:
      if answer.status == 206, body.count > 1 {
        // The server sends less than what was requested, and states this correctly.
        body.removeLast()
        answer.contentRange = "bytes \(offset)-\(length - 2)/\(random.oneIn(2) ? "\(length)" : "*")"
        answer.length = Int64(body.count)
        parts += 1
      }
    case 4:
      // The server sends more than it has stated, without a length that libcurl would check.
      if answer.status == 206 {
        body.append(-3)
        answer.length = nil
      }
    case 5: if answer.status == 206 { answer.contentRange = "bytes \(offset)-\(length - 1)/*" }
    default: break
    }
  }

  // MARK: Effects

  /// - Returns: Whether the machine lets the leg fail.
  @discardableResult
  private mutating func send(_ event: ResumeMachine.Event) -> Bool {
    var isRefused = false
    for effect in machine.handle(event) {
      switch effect {
      case .ask(let range, let isSuspended):
        if leg != nil { fault = "two legs" }
        leg = isSuspended ? .suspended(range) : .running(range)
      case .begin: if case .suspended(let range) = leg { leg = .running(range) } else { fault = "nothing to begin" }
      case .breakOff:
        if leg == nil { fault = "nothing to break off" }
        isBrokenOff = true
      case .truncate:
        file = []
        if random.oneIn(20) {
          kill()
          return false
        }
      case .cut(let offset):
        if fresh != nil || offset > file.count { fault = "cut to \(offset)" }
        file = Array(file.prefix(Int(offset)))
      case .beginFresh:
        if recorded == nil { fault = "nothing to keep" }
        fresh = []
      case .promoteFresh:
        guard let fresh, let data = machine.data else {
          fault = "nothing to promote"
          return false
        }
        recorded = nil
        if random.oneIn(10) {
          kill()
          return false
        }
        file = fresh
        self.fresh = nil
        if random.oneIn(10) {
          kill()
          return false
        }
        recorded = data
      case .dropFresh: fresh = nil
      case .record:
        recorded = machine.data
        if random.oneIn(20) {
          kill()
          return false
        }
      case .forget: recorded = nil
      case .install: install()
      case .discard: (file, fresh, recorded) = ([], nil, nil)
      case .refuse: isRefused = true
      case .complete: begin()
      }
    }
    return isRefused
  }

  private mutating func install() {
    let whole = fresh ?? file
    if let first = whole.first {
      if whole != content(first / 1_000) { fault = "installed \(whole)" }
    }
    installed += 1
    (file, fresh, recorded) = ([], nil, nil)
  }
}
