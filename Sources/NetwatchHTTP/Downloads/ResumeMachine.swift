/// A download that can be paused, from its first request to its one completion. Pure: events in, effects out.
///
/// ```
///   unloaded --loaded--> ready <--------------+ paused: broken off, and the next request is made
///                          | resumed          |
///                          v                  |
///              +-------> asked ---------------+------ failure ---> over
///   there is   |           | 200, 206         |
///   more, or   |           v                  |
///   an answer  |        receiving ------------+
///   was odd    |           | the body is whole, or a 416 says that it was
///              +-----------+--------------------------> over
/// ```
///
/// Each request is a leg: it asks for the rest of what is there, and has a body that is put behind it, or begins anew. What is
/// there stays until what begins anew is whole, or is more.
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

  enum LegEnd: Hashable, Sendable {
    case success, cancelled, failure
    /// The network between here and the server is gone, and the next leg waits for it.
    case pathLost
  }

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
    /// Take back what has come behind this offset.
    case cut(Int64)
    /// Put what comes now into a new file.
    case beginFresh
    /// Put the new file into the place of the old one, and write down what is known of it.
    case promoteFresh
    /// Remove the new file.
    case dropFresh
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

  enum Verdict: Hashable, Sendable {
    case whole, broken
    /// A part has come, and the next one is to be asked for.
    case more
    /// The answer was odd: it is asked for all of it.
    case again
  }

  /// What has come of a file.
  private struct Content: Hashable {
    var offset: Int64 = 0
    var total: Int64?
    var validator: ResumeData.Validator?
  }

  let url: String
  private(set) var phase = Phase.unloaded
  private var content = Content()
  /// What stays in the old file while `content` comes into a new one.
  private var kept: Content?
  /// Whether the server has said, and not oddly, that the kept file is no more what it was.
  private var isKeptOutdated = false
  private var legStart: Int64 = 0
  private var wish = Wish.paused
  /// By this machine: its leg's cancellation is no failure.
  private var isBrokenOff = false

  private enum Wish: Hashable {
    case running, paused, stopped, cancelled
    var isFinal: Bool { self == .stopped || self == .cancelled }
  }

  init(url: String) { self.url = url }

  var offset: Int64 { content.offset }
  var total: Int64? { content.total }

  /// What is worth keeping; nil where the next leg has to begin anew.
  var data: ResumeData? {
    guard let validator = content.validator else { return nil }
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
    if let data, data.isFor(url), size >= data.offset, data.total.map({ size <= $0 }) ?? true {
      content = Content(offset: size, total: data.total, validator: data.validator)
    }
    return wish.isFinal ? over() : [ask()]
  }

  private mutating func ask() -> Effect {
    isBrokenOff = false
    if content.validator == nil { content = Content() }
    legStart = offset
    let range = content.validator.flatMap { offset > 0 ? ResumeRange(offset: offset, validator: $0) : nil }
    let isSuspended = wish == .paused
    phase = isSuspended ? .ready : .asked
    return .ask(range, isSuspended: isSuspended)
  }

  // MARK: Answers

  private mutating func answered(_ answer: ResumeAnswer) -> [Effect] {
    guard let validator = content.validator, offset > 0 else { return answeredFromBeginning(answer) }
    switch answer.status {
    case 200:
      isKeptOutdated = answer.validator.map { $0 != validator } ?? false
      kept = content
      return answeredFromBeginning(answer)
    case 206:
      guard let range = answer.contentRange.flatMap(ContentRange.init), let bytes = range.bytes,
        bytes.lowerBound == offset
      else { return distrust(.otherRange) }
      let isSame =
        range.total.flatMap { whole in total.map { $0 == whole } } ?? total.map { bytes.upperBound <= $0 } ?? true
      guard isSame, !answer.contradicts(validator) else { return distrust(.changed) }
      content.total = range.total ?? total
      phase = .receiving(end: bytes.upperBound)
      return []
    case 416:
      let whole = answer.contentRange.flatMap(ContentRange.init)?.total
      // Without a length, a server that has found the file to be the same has nothing behind what is there.
      let isLength = whole.map { $0 == offset } ?? answer.confirms(validator)
      let isWhole = isLength && total.map { $0 == offset } ?? true && !answer.contradicts(validator)
      phase = .skipping(isWhole ? .whole : .again)
      if isWhole { content.total = offset } else { keep() }
      return []
    default: return [.refuse(.status(answer.status))]
    }
  }

  private mutating func answeredFromBeginning(_ answer: ResumeAnswer) -> [Effect] {
    guard 200...299 ~= answer.status else { return [.refuse(.status(answer.status))] }
    guard answer.status != 206 else { return [.refuse(.otherRange)] }
    content = Content(offset: 0, total: answer.length, validator: answer.validator)
    phase = .receiving(end: answer.length)
    if kept != nil { return [.beginFresh] }
    // In this order: data of the new file must not stand beside bytes of the old one, whenever the process ends.
    return [.truncate, data == nil ? .forget : .record]
  }

  /// The next leg asks for all of it, and what there is stays meanwhile.
  private mutating func keep() {
    isKeptOutdated = false
    kept = content
    content = Content()
  }

  /// Breaks an odd answer off. Its bytes are no part of what stays.
  private mutating func distrust(_ refusal: ResumeRefusal) -> [Effect] {
    phase = .judged(.again)
    guard offset > legStart else {
      keep()
      return [.refuse(refusal)]
    }
    content.offset = legStart
    keep()
    return [.cut(legStart), .refuse(refusal)]
  }

  private mutating func received(_ count: Int64) -> [Effect] {
    guard count >= 0, room.map({ count <= $0 }) ?? true else {
      // A new file is not better than what is kept, and there is no third one.
      return kept == nil && legStart > 0 ? distrust(.tooLong) : [.refuse(.tooLong)]
    }
    content.offset += count
    guard let kept, data != nil, offset >= kept.offset else { return [] }
    self.kept = nil
    return [.promoteFresh]
  }

  // MARK: Ends

  private mutating func bodyEnded(_ isWhole: Bool) -> [Effect] {
    switch phase {
    case .receiving(let end):
      guard isWhole else {
        phase = .judged(.broken)
        return keepBetter()
      }
      if let end, offset != end || total != end {
        // A server may send less than it was asked for, but not nothing.
        phase = .judged(offset > legStart ? .more : .broken)
        return offset > legStart ? keepBetter() : keepBetter() + [.refuse(.tooShort)]
      }
      phase = .judged(.whole)
      content.total = offset
      return [.install]
    case .skipping(let verdict):
      phase = .judged(verdict == .again || isWhole ? verdict : .broken)
      return isWhole && verdict == .whole ? [.install] : []
    case .asked:
      phase = .judged(.broken)
      return keepBetter()
    case .unloaded, .ready, .judged, .over: return []
    }
  }

  /// What is left of an unfinished leg: the new file if it is worth more than the old one, else the old one.
  private mutating func keepBetter() -> [Effect] {
    guard let kept else {
      return phase == .judged(.broken) && offset == legStart ? [] : [data == nil ? .forget : .record]
    }
    self.kept = nil
    if data != nil, offset > 0, isKeptOutdated || offset >= kept.offset { return [.promoteFresh] }
    content = kept
    return [.dropFresh]
  }

  private mutating func legEnded(_ end: LegEnd) -> [Effect] {
    if end == .success, phase == .judged(.whole) {
      phase = .over
      return [.complete]
    }
    let goesOn =
      switch phase {
      case .judged(.again): true
      case .judged(.more) where end == .success: true
      default: end == .cancelled && isBrokenOff || end == .pathLost && data.map { $0.offset > 0 } ?? false
      }
    return goesOn && !wish.isFinal ? [ask()] : over()
  }

  private mutating func over() -> [Effect] {
    phase = .over
    var effects: [Effect] = []
    if let kept {
      content = kept
      self.kept = nil
      effects = [.dropFresh]
    }
    return effects + (wish == .cancelled || data == nil || offset == 0 ? [.discard, .complete] : [.complete])
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
