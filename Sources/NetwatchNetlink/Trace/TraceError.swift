import NetwatchLibC

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
    case .notATrace: "'\(file)' is no recording; its first line would be '\(TraceFormat.header)'"
    case .version: "'\(file)' is not a recording of the version '\(TraceFormat.header)'; a newer netwatch may play it"
    case .tooLong: "\(place) is longer than any line of a recording"
    case .malformed(let text): "\(place) is not part of a recording: '\(text)'"
    case .unexpected(let text, let needed):
      "\(place) is '\(text)', but \(needed) must come next; another version of netwatch may have recorded it"
    case .settingTooLate: "\(place) is a setting, but all settings must come first"
    case .tooManySettings: "\(place) is one setting more than a recording can have"
    case .cut: "\(place) is the last one, but the recording is not complete; everything up to there was played"
    }
  }

  private var place: String { "line \(line) of '\(file)'" }

  private func message(_ code: CInt) -> String { unsafe String(cString: strerror(code)) }
}
