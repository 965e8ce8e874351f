import Glibc

/// An error that prevents writing a trace, or playing it to its end.
package struct TraceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of the error.
  package enum Problem: Hashable, Sendable {
    /// The file cannot be read; the code is from `errno`.
    case unreadable(code: CInt)
    /// The file cannot be written; the code is from `errno`.
    case unwritable(code: CInt)
    /// A file with this name exists already. A new trace does not replace a file.
    case exists
    /// The file does not begin like a trace.
    case notATrace
    /// The trace has another version of the format.
    case version
    /// The line is longer than any line of a trace.
    case tooLong
    /// The line is not a record of a trace; with the text of the line.
    case malformed(String)
    /// The record does not fit here; with the text of the line, and what the machine needs next.
    case unexpected(String, needed: String)
    /// The record is a setting, but other records precede it.
    case settingTooLate
    /// The trace has more settings than are allowed.
    case tooManySettings
    /// The trace ends, but the machine needs more records.
    case cut
  }

  /// The path of the trace.
  package let file: String
  /// The number of the line, from 1; 0 if the error is not about a line.
  package let line: Int
  /// What is wrong.
  package let problem: Problem

  /// A sentence about the error for people.
  package var description: String {
    switch problem {
    case .unreadable(let code): "cannot read '\(file)': \(message(code))"
    case .unwritable(let code): "cannot write '\(file)': \(message(code))"
    case .exists: "'\(file)' exists already, and --record replaces no file; give a new name"
    case .notATrace: "'\(file)' is no trace; the first line of one is '\(TraceFormat.header)'"
    case .version: "'\(file)' is a trace of another version than '\(TraceFormat.header)'; a newer netwatch may play it"
    case .tooLong: "\(place) is longer than any line of a trace"
    case .malformed(let text): "\(place) is no record of a trace: '\(text)'"
    case .unexpected(let text, let needed):
      "\(place) is '\(text)', where \(needed) is needed; a trace is played in the order in which it was recorded"
    case .settingTooLate: "\(place) is a setting, but settings stand before everything else"
    case .tooManySettings: "\(place) is one setting more than a trace can have"
    case .cut: "\(place) is the last one, but more belongs to it: the trace was cut; all that it holds was played"
    }
  }

  private var place: String { "line \(line) of '\(file)'" }

  private func message(_ code: CInt) -> String { unsafe String(cString: strerror(code)) }
}
