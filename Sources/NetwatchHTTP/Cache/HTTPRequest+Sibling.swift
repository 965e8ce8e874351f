import FoundationEssentials
import HTTPTypes

extension HTTPRequest {
  /// Returns the URL in a field of the answer, as ``urlText`` writes it. Nil if it is not a URL, or has another origin.
  func sibling(at reference: String) -> String? {
    guard let base = urlText.flatMap({ URL(reference: $0.utf8) }),
      let url = URL(reference: reference.utf8, relativeTo: base),
      let other = try? HTTPRequest(.get, to: url.absoluteURL), isSameOrigin(as: other)
    else { return nil }
    return other.urlText
  }
}
