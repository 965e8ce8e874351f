import FoundationEssentials
import HTTPTypes

/// Where a download goes.
public struct HTTPDestination: Sendable {
  let place: @Sendable (HTTPResponse) -> URL
  let replacesExisting: Bool

  /// One place.
  ///
  /// - Parameters:
  ///   - url: of a file.
  ///   - replacesExisting: whether a file that is there is replaced, at the end and at once. Default false: it is an error.
  public static func file(_ url: URL, replacesExisting: Bool = false) -> HTTPDestination {
    HTTPDestination(place: { _ in url }, replacesExisting: replacesExisting)
  }

  /// A place that depends on what the server says of the file.
  ///
  /// - Parameters:
  ///   - replacesExisting: whether a file that is there is replaced, at the end and at once. Default false: it is an error.
  ///   - place: called before the first byte, on the manager's thread: be short.
  public static func named(
    replacesExisting: Bool = false, _ place: @escaping @Sendable (HTTPResponse) -> URL
  ) -> HTTPDestination {
    HTTPDestination(place: place, replacesExisting: replacesExisting)
  }
}
