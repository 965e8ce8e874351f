import Foundation
import HTTPTypes
import NetwatchHTTP

extension HTTPFields {
  /// Returns `name/version (system; machine)` in ASCII. Letters of other scripts are transcribed, or left out if that is not
  /// possible.
  ///
  /// - Parameters:
  ///   - name: The name of the program.
  ///   - version: The version of the program. Default: nil, it is left out.
  public static func userAgent(transcribing name: String, version: String? = nil) -> String {
    userAgent(name: transcribed(name), version: version.map(transcribed))
  }

  private static func transcribed(_ text: String) -> String {
    // ICU's tables take milliseconds and megabytes, so they are only used if there is something to transcribe.
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    return text.applyingTransform(StringTransform("Any-Latin; Latin-ASCII; [:^ASCII:] Remove"), reverse: false) ?? text
  }
}
