import FoundationEssentials
import HTTPTypes

extension HTTPRequest {
  /// The URL that a field of the answer names, as ``urlText`` writes it. Nil for what is no URL, or has another origin.
  func sibling(at reference: String) -> String? {
    guard let base = urlText.flatMap({ URL(string: $0) }), let url = URL(string: reference, relativeTo: base),
      let other = try? HTTPRequest(.get, to: url.absoluteURL), isSameOrigin(as: other)
    else { return nil }
    return other.urlText
  }
}
