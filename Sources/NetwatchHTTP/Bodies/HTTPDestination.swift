import FoundationEssentials
import HTTPTypes

/// Where a download goes.
public struct HTTPDestination: Sendable {
  /// Called with the request that the server has answered.
  let place: @Sendable (HTTPResponse, HTTPRequest) -> URL
  let replacesExisting: Bool
  let createsFolders: Bool

  /// One place.
  ///
  /// - Parameters:
  ///   - url: of a file.
  ///   - replacesExisting: whether a file that is there is replaced, at the end and at once. Default false: it is an error.
  ///   - createsFolders: whether the folder of the file, and those above it, are made if they do not exist. They stay if the
  ///     download fails later. Default false: it is an error.
  public static func file(
    _ url: URL, replacesExisting: Bool = false, createsFolders: Bool = false
  ) -> HTTPDestination {
    HTTPDestination(place: { _, _ in url }, replacesExisting: replacesExisting, createsFolders: createsFolders)
  }

  /// A place that depends on what the server says of the file.
  ///
  /// - Parameters:
  ///   - replacesExisting: whether a file that is there is replaced, at the end and at once. Default false: it is an error.
  ///   - createsFolders: whether the folder of the file, and those above it, are made if they do not exist. They stay if the
  ///     download fails later. Default false: it is an error.
  ///   - place: called before the first byte, on the thread that has the task: be short.
  public static func named(
    replacesExisting: Bool = false, createsFolders: Bool = false, _ place: @escaping @Sendable (HTTPResponse) -> URL
  ) -> HTTPDestination {
    HTTPDestination(
      place: { response, _ in place(response) }, replacesExisting: replacesExisting, createsFolders: createsFolders)
  }

  /// A folder, in which the file gets the name that the server suggests: see
  /// `HTTPResponse.suggestedFilename(for:)`. The file is in no other folder, whatever the server says.
  ///
  /// - Parameters:
  ///   - folder: of the file.
  ///   - replacesExisting: whether a file that is there is replaced, at the end and at once. Then the server chooses which of the
  ///     folder's files is replaced, so give it a folder of its own. Default false: it is an error.
  ///   - createsFolders: whether the folder, and those above it, are made if they do not exist. They stay if the download fails
  ///     later. Default false: it is an error.
  public static func suggested(
    in folder: URL, replacesExisting: Bool = false, createsFolders: Bool = false
  ) -> HTTPDestination {
    HTTPDestination(
      place: { response, request in
        folder.appending(path: response.suggestedFilename(for: request), directoryHint: .notDirectory)
      },
      replacesExisting: replacesExisting, createsFolders: createsFolders)
  }
}
