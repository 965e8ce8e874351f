import Glibc

/// A trace that cannot be written, or not be played to its end.
package struct TraceError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Problem: Hashable, Sendable {
    case unreadable(code: CInt)
    case unwritable(code: CInt)
    /// A new trace takes no other file's place.
    case exists
    case notATrace
    case version
    case tooLong
    /// What stands there.
    case malformed(String)
    /// What stands there, and what the machine needs next.
    case unexpected(String, needed: String)
    case settingTooLate
    case tooManySettings
    /// The end has come where the machine needs more.
    case cut
  }

  package let file: String
  /// Counted from 1; 0 where it is about none.
  package let line: Int
  package let problem: Problem

  package var description: String {
    switch problem {
    case .unreadable(let code): "cannot read '\(file)': \(message(code))"
    case .unwritable(let code): "cannot write '\(file)': \(message(code))"
    case .exists: "'\(file)' exists already, and a trace takes no other file's place; give a new name"
    case .notATrace: "'\(file)' is no trace; the first line of one is '\(TraceFormat.header)'"
    case .version: "'\(file)' is a trace of another version than '\(TraceFormat.header)'; a newer netwatch may play it"
    case .tooLong: "\(place) is longer than any line of a trace"
    case .malformed(let text): "\(place) is no record of a trace: '\(text)'"
    case .unexpected(let text, let needed):
      "\(place) is '\(text)', where \(needed) is needed; a trace is played in the order in which it was recorded"
    case .settingTooLate: "\(place) is a setting; they stand before everything else"
    case .tooManySettings: "\(place) is one setting more than a trace can have"
    case .cut: "\(place) is the last one, but more belongs to it: the trace was cut; all that it holds was played"
    }
  }

  private var place: String { "line \(line) of '\(file)'" }

  private func message(_ code: CInt) -> String { unsafe String(cString: strerror(code)) }
}
