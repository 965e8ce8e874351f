import HTTPTypes

/// The states of a download that can be paused, from its first request to its one completion. Pure: events in, effects out.
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
/// Each request is a leg. A leg requests the rest of the file, and its body is appended; or it begins again. The old bytes are
/// kept until the new file is complete, or has as many bytes.
struct ResumeMachine: Sendable {
  enum Event: Hashable, Sendable {
    case resumed
    case paused
    /// The download ends, but the received bytes are kept.
    case stopped
    case cancelled
    /// The result of an earlier download: its data, and the number of bytes in its file.
    case loaded(ResumeData?, size: Int64)
    case answered(ResumeAnswer)
    /// This number of bytes was added to the file.
    case received(Int64)
    /// - Parameter isWhole: Whether the transfer found nothing missing.
    case bodyEnded(isWhole: Bool)
    /// The body has broken off, and the leg requests the rest.
    case restarted
    case legEnded(LegEnd)
  }

  enum LegEnd: Hashable, Sendable {
    case success, cancelled, failure
    /// The path to the server is lost, and the next leg waits for it.
    case pathLost
  }

  /// What the core has to do. Effects are carried out in the order in which they are returned.
  enum Effect: Hashable, Sendable {
    /// Make the next leg.
    case ask(ResumeRange?, isSuspended: Bool)
    /// Begin the leg, which was created suspended.
    case begin
    /// Cancel the leg.
    case breakOff
    /// Empty the file.
    case truncate
    /// Remove the bytes after this offset.
    case cut(Int64)
    /// Write the next bytes into a new file.
    case beginFresh
    /// Put the new file in the place of the old one, and write its resume data.
    case promoteFresh
    /// Remove the new file.
    case dropFresh
    /// Write the resume data beside the file.
    case record
    /// Remove the resume data, which is no longer valid.
    case forget
    /// Put the complete file in its place.
    case install
    /// Remove the file and its resume data.
    case discard
    /// Let the leg fail.
    case refuse(ResumeRefusal)
    /// Complete the download with the outcome of the last leg.
    case complete
  }

  enum Phase: Hashable, Sendable {
    case unloaded
    /// The next leg was created, and is suspended.
    case ready
    case asked
    /// - Parameter end: The offset at which the body has to end; nil if it is not known.
    case receiving(end: Int64?)
    /// The body is not part of the file.
    case skipping(Verdict)
    case judged(Verdict)
    case over
  }

  enum Verdict: Hashable, Sendable {
    case whole, broken
    /// A part has arrived, and the next one has to be requested.
    case more
    /// The response was not consistent, so the whole file is requested.
    case again
  }

  /// The received part of a file.
  private struct Content: Hashable {
    var offset: Int64 = 0
    var total: Int64?
    var validator: ResumeData.Validator?
  }

  let url: String
  private(set) var phase = Phase.unloaded
  private var content = Content()
  /// The content of the old file, while `content` is received into a new one.
  private var kept: Content?
  /// Whether the server has reported, in a consistent response, that the old file is outdated.
  private var isKeptOutdated = false
  private var legStart: Int64 = 0
  private var wish = Wish.paused
  /// Whether this machine has cancelled the leg. That is not a failure.
  private var isBrokenOff = false

  private enum Wish: Hashable {
    case running, paused, stopped, cancelled
    var isFinal: Bool { self == .stopped || self == .cancelled }
  }

  init(url: String) { self.url = url }

  var offset: Int64 { content.offset }
  var total: Int64? { content.total }

  /// The resume data. Nil if the next leg has to begin again.
  var data: ResumeData? {
    guard let validator = content.validator else { return nil }
    return ResumeData(url: url, offset: offset, validator: validator, total: total)
  }

  var isPaused: Bool { wish == .paused && phase != .over }

  /// The number of bytes that the file may still take now. Nil if there is no limit.
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
    case (.receiving, .restarted): restarted()
    case (_, .legEnded(let end)): legEnded(end)
    case (_, .loaded), (_, .answered), (_, .received), (_, .restarted): []
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
    // A file that is shorter than recorded, or longer than the whole, does not belong to the data.
    if let data, data.isFor(url), size >= data.offset, data.total.map({ size <= $0 }) ?? true {
      content = Content(offset: size, total: data.total, validator: data.validator)
    }
    return wish.isFinal ? over() : [ask()]
  }

  /// The range that the next request asks for. Nil for the whole file.
  var range: ResumeRange? {
    content.validator.flatMap { offset > 0 ? ResumeRange(offset: offset, validator: $0) : nil }
  }

  /// Whether the leg can go on after its body has broken off.
  var canContinue: Bool { if case .receiving = phase { true } else { false } }

  private mutating func restarted() -> [Effect] {
    phase = .judged(.broken)
    let effects = keepBetter()
    begin()
    phase = .asked
    return effects
  }

  private mutating func begin() {
    if content.validator == nil { content = Content() }
    legStart = offset
  }

  private mutating func ask() -> Effect {
    isBrokenOff = false
    begin()
    let isSuspended = wish == .paused
    phase = isSuspended ? .ready : .asked
    return .ask(range, isSuspended: isSuspended)
  }

  // MARK: Answers

  private mutating func answered(_ answer: ResumeAnswer) -> [Effect] {
    guard let validator = content.validator, offset > 0 else { return answeredFromBeginning(answer) }
    switch answer.status {
    case 200:
      guard !answer.isPart else { return distrust(.otherRange) }
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
      // If the length is missing but the server has confirmed that the file is unchanged, nothing follows the received bytes.
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
    guard answer.status != 206, !answer.isPart else { return [.refuse(.otherRange)] }
    content = Content(offset: 0, total: answer.length, validator: answer.validator)
    phase = .receiving(end: answer.length)
    if kept != nil { return [.beginFresh] }
    // In this order: the data of the new file must never be beside bytes of the old one, whenever the process ends.
    return [.truncate, data == nil ? .forget : .record]
  }

  /// Makes the next leg request the whole file, and keeps the old bytes meanwhile.
  private mutating func keep() {
    isKeptOutdated = false
    kept = content
    content = Content()
  }

  /// Refuses an inconsistent response. The bytes of its leg are not kept.
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
      // A new file is no better than the old one, and there is no third one.
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
        // A server may send less than was requested, but not nothing.
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

  /// Keeps the better file after an unfinished leg: the new one if it is worth more than the old one, otherwise the old one.
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

/// The range that a leg requests.
struct ResumeRange: Hashable, Sendable {
  let offset: Int64
  let validator: ResumeData.Validator
}

extension ResumeRange? {
  /// Makes a request ask for the range, or for the whole file.
  func ask(in request: inout HTTPRequest) {
    request.headerFields[.range] = map { "bytes=\($0.offset)-" }
    request.headerFields[.ifRange] = self?.validator.text
  }
}

/// The reason why a response is refused.
enum ResumeRefusal: Hashable, Sendable {
  case status(Int)
  /// The server has sent a part that was not requested.
  case otherRange
  /// The server has sent the rest of another file.
  case changed
  case tooLong
  case tooShort
}

/// The parts of a server's response that matter to a download.
struct ResumeAnswer: Hashable, Sendable {
  var status: Int
  /// The length of the body. Nil if it is not known before the end.
  var length: Int64?
  var contentRange: String?
  var entityTag: String?
  var lastModified: String?
  var date: String?
}

extension ResumeAnswer {
  init(_ response: HTTPResponse, length: Int64?) {
    let fields = response.headerFields
    self.init(
      status: response.status.code, length: length, contentRange: fields.singleValue(.contentRange),
      entityTag: fields.singleValue(.eTag),
      lastModified: fields.singleValue(.lastModified), date: fields.singleValue(.date))
  }

  var validator: ResumeData.Validator? {
    ResumeData.Validator(entityTag: entityTag, lastModified: lastModified, date: date)
  }

  /// Whether the response says that its body is a part of the file. With status 200 it would be taken for the whole file.
  var isPart: Bool {
    guard let range = contentRange.flatMap(ContentRange.init), let bytes = range.bytes else { return false }
    return bytes.lowerBound > 0 || range.total.map { bytes.upperBound < $0 } ?? false
  }

  /// Returns whether the response contradicts what is known of the file. A field that is missing contradicts nothing.
  func contradicts(_ validator: ResumeData.Validator) -> Bool {
    switch validator {
    case .entityTag(let tag): entityTag.map { $0 != tag } ?? false
    case .lastModified(let date): lastModified.map { $0 != date } ?? false
    }
  }

  /// Returns whether the response confirms that the file is unchanged.
  func confirms(_ validator: ResumeData.Validator) -> Bool {
    switch validator {
    case .entityTag(let tag): entityTag == tag
    case .lastModified(let date): lastModified == date
    }
  }
}

/// The value of the `Content-Range` field of a response: `bytes 5-9/10`, `bytes 5-9/*` or `bytes */10`.
struct ContentRange: Hashable, Sendable {
  /// The bytes that the server sends. Nil if the server reports that it cannot send the requested ones.
  let bytes: Range<Int64>?
  /// The length of the whole file. Nil if the server does not report it.
  let total: Int64?

  /// Returns nil for a text that contradicts itself, and for a unit other than bytes.
  init?(_ text: String) {
    guard text.prefix(6).lowercased() == "bytes " else { return nil }
    let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    total = Self.number(parts[1])
    guard total != nil || parts[1] == "*" else { return nil }
    if parts[0] == "*" {
      bytes = nil
      return
    }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
      total.map({ last < $0 }) ?? true
    else { return nil }
    bytes = first..<(last + 1)
  }

  /// Returns nil for anything but 1 to 18 digits.
  private static func number(_ text: Substring) -> Int64? {
    guard 1...18 ~= text.utf8.count, text.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return Int64(text)
  }
}
