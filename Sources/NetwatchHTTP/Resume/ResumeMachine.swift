/// A download that can be paused, from its first request to its one completion. Pure: events in, effects out.
///
/// ```
///   unloaded --loaded--> ready <--------------+ paused: broken off, and the next request is made
///                          | resumed          |
///                          v                  |
///              +-------> asked ---------------+------ failure ---> over
///   416 with   |           | 200, 206         |
///   another    |           v                  |
///   length     |        receiving ------------+
///              |           | the body is whole, or a 416 says that it was
///              +-----------+--------------------------> over
/// ```
///
/// Each request is a leg: it asks for the rest of what is there, and has a body that is put behind it, or begins anew.
struct ResumeMachine: Sendable {
  enum Event: Hashable, Sendable {
    case resumed
    case paused
    /// For good, but what has come is kept.
    case stopped
    case cancelled
    /// What an earlier download has left: its data, and how many bytes are in its file.
    case loaded(ResumeData?, size: Int64)
    case answered(ResumeAnswer)
    /// So many bytes of the body are in the file.
    case received(Int64)
    /// - Parameter isWhole: whether the transfer has found nothing missing.
    case bodyEnded(isWhole: Bool)
    case legEnded(LegEnd)
  }

  enum LegEnd: Hashable, Sendable { case success, cancelled, failure }

  /// To be carried out in this order.
  enum Effect: Hashable, Sendable {
    /// Make the next leg.
    case ask(ResumeRange?, isSuspended: Bool)
    /// Begin the leg that was made suspended.
    case begin
    /// Cancel the leg.
    case breakOff
    /// Empty the file.
    case truncate
    /// Write down what is known, beside the file.
    case record
    /// What was written down holds no more.
    case forget
    /// Put the file into its place.
    case install
    /// Remove the file, and what was written down.
    case discard
    /// Let the leg fail.
    case refuse(ResumeRefusal)
    /// With the end of the last leg.
    case complete
  }

  enum Phase: Hashable, Sendable {
    case unloaded
    /// The next leg is made, and suspended.
    case ready
    case asked
    /// - Parameter end: the offset at which the body has to end; nil where nobody knows.
    case receiving(end: Int64?)
    /// The body is no part of the file.
    case skipping(Verdict)
    case judged(Verdict)
    case over
  }

  enum Verdict: Hashable, Sendable { case whole, again, broken }

  let url: String
  private(set) var phase = Phase.unloaded
  private(set) var offset: Int64 = 0
  private(set) var total: Int64?
  private var validator: ResumeData.Validator?
  private var wish = Wish.paused
  /// By this machine: its leg's cancellation is no failure.
  private var isBrokenOff = false

  private enum Wish: Hashable {
    case running, paused, stopped, cancelled
    var isFinal: Bool { self == .stopped || self == .cancelled }
  }

  init(url: String) { self.url = url }

  /// What is worth keeping; nil where the next leg has to begin anew.
  var data: ResumeData? {
    guard let validator else { return nil }
    return ResumeData(url: url, offset: offset, validator: validator, total: total)
  }

  var isPaused: Bool { wish == .paused && phase != .over }

  /// How many more bytes the file may take now; nil where there is no limit.
  var room: Int64? {
    switch phase {
    case .receiving(let end): end.map { $0 - offset }
    default: 0
    }
  }

  mutating func handle(_ event: Event) -> [Effect] {
    switch (phase, event) {
    case (.over, _): []
    case (_, .resumed): wished(.running)
    case (_, .paused): wished(.paused)
    case (_, .stopped): wished(.stopped)
    case (_, .cancelled): wished(.cancelled)
    case (.unloaded, .loaded(let data, let size)): loaded(data, size)
    case (.asked, .answered(let answer)): answered(answer)
    case (.receiving, .received(let count)): received(count)
    case (_, .bodyEnded(let isWhole)): bodyEnded(isWhole)
    case (_, .legEnded(let end)): legEnded(end)
    case (_, .loaded), (_, .answered), (_, .received): []
    }
  }

  // MARK: Wishes

  private mutating func wished(_ next: Wish) -> [Effect] {
    guard !wish.isFinal, next != wish else { return [] }
    wish = next
    switch (phase, next) {
    case (.ready, .running):
      phase = .asked
      return [.begin]
    case (.unloaded, _), (.ready, .paused), (_, .running), (.over, _): return []
    case (_, .paused), (_, .stopped), (_, .cancelled):
      if isBrokenOff { return [] }
      isBrokenOff = true
      return [.breakOff]
    }
  }

  private mutating func loaded(_ data: ResumeData?, _ size: Int64) -> [Effect] {
    // A file that is shorter than it was, or longer than the whole, is not what the data belongs to.
    if let data, data.url == url, size >= data.offset, data.total.map({ size <= $0 }) ?? true {
      (offset, total, validator) = (size, data.total, data.validator)
    }
    return wish.isFinal ? over() : [ask()]
  }

  private mutating func ask() -> Effect {
    isBrokenOff = false
    if validator == nil { beginAnew() }
    let range = validator.flatMap { offset > 0 ? ResumeRange(offset: offset, validator: $0) : nil }
    let isSuspended = wish == .paused
    phase = isSuspended ? .ready : .asked
    return .ask(range, isSuspended: isSuspended)
  }

  private mutating func beginAnew() { (offset, total, validator) = (0, nil, nil) }

  // MARK: Answers

  private mutating func answered(_ answer: ResumeAnswer) -> [Effect] {
    guard let validator, offset > 0 else { return answeredFromBeginning(answer) }
    switch answer.status {
    case 200: return answeredFromBeginning(answer)
    case 206:
      guard let range = answer.contentRange.flatMap(ContentRange.init), range.bytes?.lowerBound == offset,
        let whole = range.total, range.bytes?.upperBound == whole
      else { return distrust(.otherRange) }
      guard total.map({ $0 == whole }) ?? true, !answer.contradicts(validator) else { return distrust(.changed) }
      total = whole
      phase = .receiving(end: whole)
      return []
    case 416:
      let whole = answer.contentRange.flatMap(ContentRange.init)?.total
      let isWhole = whole == offset && total.map { $0 == offset } ?? true && !answer.contradicts(validator)
      if isWhole { total = offset }
      phase = .skipping(isWhole ? .whole : .again)
      return []
    default: return [.refuse(.status(answer.status))]
    }
  }

  private mutating func answeredFromBeginning(_ answer: ResumeAnswer) -> [Effect] {
    guard 200...299 ~= answer.status else { return [.refuse(.status(answer.status))] }
    guard answer.status != 206 else { return [.refuse(.otherRange)] }
    beginAnew()
    (total, validator) = (answer.length, answer.validator)
    phase = .receiving(end: answer.length)
    // In this order: data of the new file must not stand beside bytes of the old one, whenever the process ends.
    return [.truncate, data == nil ? .forget : .record]
  }

  private mutating func distrust(_ refusal: ResumeRefusal) -> [Effect] {
    beginAnew()
    return [.forget, .refuse(refusal)]
  }

  private mutating func received(_ count: Int64) -> [Effect] {
    guard count >= 0, room.map({ count <= $0 }) ?? true else { return distrust(.tooLong) }
    offset += count
    return []
  }

  // MARK: Ends

  private mutating func bodyEnded(_ isWhole: Bool) -> [Effect] {
    switch phase {
    case .receiving(let end):
      let isRight = end.map { $0 == offset } ?? true
      phase = .judged(isWhole && isRight ? .whole : .broken)
      if isWhole, isRight {
        total = offset
        return [.install]
      }
      let record: Effect = data == nil ? .forget : .record
      return isWhole ? [record, .refuse(.tooShort)] : [record]
    case .skipping(let verdict):
      phase = .judged(isWhole ? verdict : .broken)
      return !isWhole ? [] : verdict == .whole ? [.install] : [.forget]
    case .asked:
      phase = .judged(.broken)
      return []
    case .unloaded, .ready, .judged, .over: return []
    }
  }

  private mutating func legEnded(_ end: LegEnd) -> [Effect] {
    if end == .success, phase == .judged(.whole) {
      phase = .over
      return [.complete]
    }
    let goesOn = end == .success && phase == .judged(.again) || end == .cancelled && isBrokenOff
    guard goesOn, !wish.isFinal else { return over() }
    if phase == .judged(.again) { beginAnew() }
    return [ask()]
  }

  private mutating func over() -> [Effect] {
    phase = .over
    return wish == .cancelled || data == nil || offset == 0 ? [.discard, .complete] : [.complete]
  }
}

/// What a leg asks for.
struct ResumeRange: Hashable, Sendable {
  let offset: Int64
  let validator: ResumeData.Validator
}

/// Why an answer is not taken.
enum ResumeRefusal: Hashable, Sendable {
  case status(Int)
  /// A part that nobody has asked for.
  case otherRange
  /// The rest of another file.
  case changed
  case tooLong
  case tooShort
}
