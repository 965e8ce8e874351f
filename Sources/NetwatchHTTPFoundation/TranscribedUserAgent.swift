import Foundation
import HTTPTypes
import NetwatchHTTP

extension HTTPFields {
  /// `name/version (system; machine)`, in ASCII: letters of other scripts are transcribed, or left out where they cannot be.
  public static func userAgent(transcribing name: String, version: String? = nil) -> String {
    userAgent(name: transcribed(name), version: version.map(transcribed))
  }

  private static func transcribed(_ text: String) -> String {
    // ICU's tables take milliseconds and megabytes, so only where there is something to transcribe.
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    return text.applyingTransform(StringTransform("Any-Latin; Latin-ASCII; [:^ASCII:] Remove"), reverse: false) ?? text
  }
}
