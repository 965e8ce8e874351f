import FoundationEssentials
import HTTPTypes

/// The destination of a download.
public struct HTTPDestination: Sendable {
  /// Called with the response, and with the request that the server has answered.
  let place: @Sendable (HTTPResponse, HTTPRequest) -> URL
  let replacesExisting: Bool
  let createsFolders: Bool

  /// Returns a fixed destination.
  ///
  /// - Parameters:
  ///   - url: The URL of the file.
  ///   - replacesExisting: Whether an existing file is replaced, atomically and at the end. Default: false, an existing file is
  ///     an error.
  ///   - createsFolders: Whether missing folders above the file are made. They stay if the download fails later. Default:
  ///     false, a missing folder is an error.
  public static func file(
    _ url: URL, replacesExisting: Bool = false, createsFolders: Bool = false
  ) -> HTTPDestination {
    HTTPDestination(place: { _, _ in url }, replacesExisting: replacesExisting, createsFolders: createsFolders)
  }

  /// Returns a destination that depends on the response.
  ///
  /// - Parameters:
  ///   - replacesExisting: Whether an existing file is replaced, atomically and at the end. Default: false, an existing file is
  ///     an error.
  ///   - createsFolders: Whether missing folders above the file are made. They stay if the download fails later. Default:
  ///     false, a missing folder is an error.
  ///   - place: Returns the URL of the file. Called before the first byte, on the thread that runs the task, so keep it short.
  public static func named(
    replacesExisting: Bool = false, createsFolders: Bool = false, _ place: @escaping @Sendable (HTTPResponse) -> URL
  ) -> HTTPDestination {
    HTTPDestination(
      place: { response, _ in place(response) }, replacesExisting: replacesExisting, createsFolders: createsFolders)
  }

  /// Returns a destination in a folder, with the file name that the server suggests: see
  /// `HTTPResponse.suggestedFilename(for:)`. The file is never in another folder, whatever the server sends.
  ///
  /// - Parameters:
  ///   - folder: The URL of the folder.
  ///   - replacesExisting: Whether an existing file is replaced, atomically and at the end. Then the server chooses which file
  ///     of the folder is replaced, so use a folder for this purpose only. Default: false, an existing file is an error.
  ///   - createsFolders: Whether the folder and missing folders above it are made. They stay if the download fails later.
  ///     Default: false, a missing folder is an error.
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
