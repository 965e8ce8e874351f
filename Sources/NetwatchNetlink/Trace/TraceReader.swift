import NetwatchEventLoop
import NetwatchLibC

/// Reads a trace, one line after the other. The memory that it uses is limited by the longest line of a trace.
package final class TraceReader {
  /// A setting that determines the output beside the input, such as an option of the command. The value is nil for one that is
  /// on or off.
  package typealias Setting = (key: String, value: String?)

  /// The settings of the trace, in their order.
  package private(set) var settings: [Setting] = []
  let name: String
  /// The number of lines that have been read.
  private(set) var line = 0
  private let file: FileDescriptor
  private var buffer: [UInt8] = []
  /// The position of the next line in the buffer.
  private var position = 0
  private var current: [UInt8] = []
  /// Whether the current line is the first one after the settings and has not been returned yet.
  private var isWaiting = false

  /// Opens a trace and reads its settings.
  ///
  /// - Throws: A ``TraceError`` if the file cannot be read or is not a trace.
  package init(opening path: String) throws(TraceError) {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw TraceError(file: path, line: 0, problem: .unreadable(code: errno)) }
    name = path
    file = FileDescriptor(owning: descriptor)
    try readSettings()
  }

  // MARK: Records

  /// Returns the next record; nil at the end.
  func next() throws(TraceError) -> TraceRecord? {
    if !isWaiting { guard try readLine() else { return nil } }
    isWaiting = false
    if let record = TraceFormat.record(current[...]) { return record }
    throw failure(TraceFormat.setting(current[...]) == nil ? .malformed(excerpt) : .settingTooLate)
  }

  /// The beginning of the current line for a message, without characters that could control a terminal.
  var excerpt: String {
    let shown = current.prefix(60).map { 0x20..<0x7f ~= $0 ? $0 : UInt8(ascii: "?") }
    return String(decoding: shown, as: UTF8.self) + (current.count > shown.count ? "..." : "")
  }

  func failure(_ problem: TraceError.Problem) -> TraceError { TraceError(file: name, line: line, problem: problem) }

  private func readSettings() throws(TraceError) {
    // A file that ends within the first line might be anything.
    do throws(TraceError) {
      guard try readLine() else { throw failure(.notATrace) }
    } catch {
      if case .unreadable = error.problem { throw error }
      throw failure(.notATrace)
    }
    guard current.starts(with: TraceFormat.name.utf8) else { throw failure(.notATrace) }
    guard current.elementsEqual(TraceFormat.header.utf8) else { throw failure(.version) }
    while try readLine() {
      guard let setting = TraceFormat.setting(current[...]) else {
        isWaiting = true
        return
      }
      guard settings.count < TraceFormat.settingLimit else { throw failure(.tooManySettings) }
      settings.append(setting)
    }
  }

  // MARK: Lines

  /// Reads the next line, without its newline; false at the end. Text after the last newline is not a line, because it was cut.
  private func readLine() throws(TraceError) -> Bool {
    var searched = position
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        line += 1
        guard end - position <= TraceFormat.longestLine else { throw failure(.tooLong) }
        current = Array(buffer[position..<end])
        position = end + 1
        return true
      }
      guard buffer.count - position <= TraceFormat.longestLine else {
        line += 1
        throw failure(.tooLong)
      }
      buffer.removeSubrange(..<position)
      position = 0
      searched = buffer.count
      guard try fill() else {
        if buffer.isEmpty { return false }
        line += 1
        throw failure(.cut)
      }
    }
  }

  /// Reads more of the file. Returns false at its end.
  private func fill() throws(TraceError) -> Bool {
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe read(file.rawValue, &part, part.count)
      if count >= 0 {
        buffer += part[..<count]
        return count > 0
      }
      if errno != EINTR { throw failure(.unreadable(code: errno)) }
    }
  }
}
