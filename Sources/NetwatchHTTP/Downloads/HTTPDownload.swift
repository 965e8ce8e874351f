import FoundationEssentials
import HTTPTypes

/// A download that can be paused, and that goes on where it was: after a pause, after a failure, after the end of the process.
///
/// What has come lies in `NAME.netwatch-part` beside its destination, and what is known of it in `NAME.netwatch-part.json`.
/// Whoever downloads the same URL to the same place finds both, and asks the server for the rest, as long as the server says
/// that the file is still the same. Where it does not say so, the download begins anew, in a new file: what has come before stays
/// until that one is whole, or has more. A URL that differs in its query alone, such as in a signature, goes on if the file has an
/// entity tag.
///
/// Files of another owner, with more than one name, or that others may write are never gone on with. A name that would become too
/// long for the file system is cut, and ends with a checksum.
///
/// From any thread; no call waits. A download that is paused, and that nobody holds any more, ends with `cancelled`, and its
/// files stay.
public final class HTTPDownload: Sendable {
  private let core: DownloadCore

  init(_ core: DownloadCore) { self.core = core }

  deinit {
    if core.machine.isPaused { core.send(.stopped) }
  }

  /// Suspended also while it pauses.
  public var state: HTTPTask.State { core.taskState }
  /// Of the whole file, with what has come before. It falls where the download has to begin anew.
  public var progress: HTTPProgress { core.progress }
  /// Nil where going on would mean to begin anew.
  public var resumeData: ResumeData? { core.machine.data }

  /// Begins, or goes on.
  public func resume() { core.send(.resumed) }

  /// Gives the connection up, and keeps what has come.
  public func pause() { core.send(.paused) }

  /// Ends it with `cancelled`, unless it is over. Nothing of it stays, unless that is wanted.
  ///
  /// - Parameter keepsFiles: whether another download can go on with what has come.
  public func cancel(keepsFiles: Bool = false) { core.send(keepsFiles ? .stopped : .cancelled) }
}

extension HTTPSessionManager {
  /// A download that can be paused, and that goes on with what an earlier one has left. It is made suspended: `resume()` begins
  /// it.
  ///
  /// The file is what the server stores: it is asked not to compress it. A response that is no success is an error, and never
  /// lands in the file. Where the file was whole already, the response may be a 416.
  /// - Parameters:
  ///   - request: What to download: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``. The method has
  ///     to be GET. `Range` and `If-Range` are the download's own.
  ///   - file: Where it is to lie.
  ///   - replacesExisting: Whether a file that is there is replaced, at the end and at once. Default: false, which makes it an
  ///     error.
  ///   - createsFolders: Whether the folder of the file, and those above it, are made if they do not exist. Default: false,
  ///     which makes it an error.
  ///   - resumeData: What ``HTTPDownload/resumeData`` of an earlier download to the same place has said. Default: nil, which
  ///     means what lies beside the file.
  ///   - options: Those that are not set are the session's.
  ///   - completion: Called once, by the options' executor.
  public func resumableDownload(
    _ request: some RequestConvertible, to file: URL, replacesExisting: Bool = false, createsFolders: Bool = false,
    resumeData: ResumeData? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: @escaping @Sendable (Result<HTTPReply<URL>, HTTPError>) -> Void
  ) -> HTTPDownload {
    let core = DownloadCore(self, prepare(request, nil, options, .download), completion: completion)
    Task { core.load(file, replacesExisting: replacesExisting, createsFolders: createsFolders, resumeData) }
    return HTTPDownload(core)
  }

  /// Downloads a file, goes on with what an earlier download has left, and waits for the end. A Swift task that is cancelled
  /// cancels its request, and what has come is kept.
  ///
  /// - Parameters:
  ///   - request: What to download: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``. The method has
  ///     to be GET. `Range` and `If-Range` are the download's own.
  ///   - file: Where it is to lie.
  ///   - replacesExisting: Whether a file that is there is replaced, at the end and at once. Default: false, which makes it an
  ///     error.
  ///   - createsFolders: Whether the folder of the file, and those above it, are made if they do not exist. Default: false,
  ///     which makes it an error.
  ///   - resumeData: What ``HTTPDownload/resumeData`` of an earlier download to the same place has said. Default: nil, which
  ///     means what lies beside the file.
  ///   - options: Those that are not set are the session's.
  public func resumableDownload(
    _ request: some RequestConvertible, to file: URL, replacesExisting: Bool = false, createsFolders: Bool = false,
    resumeData: ResumeData? = nil, options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPReply<URL> {
    let (ends, continuation) = AsyncStream.makeStream(of: Result<HTTPReply<URL>, HTTPError>.self)
    let download = resumableDownload(
      request, to: file, replacesExisting: replacesExisting, createsFolders: createsFolders, resumeData: resumeData,
      options: options
    ) { continuation.yield($0) }
    download.resume()
    // The stream itself would end with its reader's task, and before its completion has run.
    let end = await withTaskCancellationHandler {
      await Task { await ends.first { _ in true } }.value
    } onCancel: {
      download.cancel(keepsFiles: true)
    }
    return try (end ?? .failure(HTTPError(.cancelled, "cancel"))).get()
  }
}
