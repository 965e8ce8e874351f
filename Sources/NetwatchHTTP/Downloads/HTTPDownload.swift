import FoundationEssentials
import HTTPTypes
import Netwatch

/// A download that can be paused, and that continues where it stopped: after a pause, after a failure, and after the end of the
/// process.
///
/// The received bytes are in `NAME.netwatch-part` beside the destination, and the facts about them in
/// `NAME.netwatch-part.json`. A later download of the same URL to the same place finds both, and requests only the rest, if the
/// server reports that the file is unchanged. Otherwise the download begins again in a new file. The old bytes are kept until the
/// new file is complete or has as many bytes. If the new download breaks off before that, the next one continues the old file,
/// which is longer; if the server has reported another version of the file, the next one continues the new file. If only the query
/// of the URL differs, as with a new signature, the download continues if the file has an entity tag.
///
/// A partial file is never continued if it belongs to another owner, has more than one hard link, or can be written by others. If
/// the name of a partial file would be longer than the file system allows, it is cut and ends with a checksum.
///
/// All members can be used from any thread, and no call waits. A paused download that is released ends with `cancelled`, and
/// its files are kept.
public final class HTTPDownload: Sendable {
  fileprivate let core: DownloadCore

  init(_ core: DownloadCore) { self.core = core }

  deinit {
    if core.machine.isPaused { core.send(.stopped) }
  }

  /// The current state of the download. It is `suspended` until the download begins, and also while it is paused.
  public var state: HTTPTask.State { core.status.state }
  /// The current state of the download, and then each change. A slow reader gets the newest state, and misses those in between.
  /// The sequence ends after ``HTTPTaskInfo/State/finished``.
  public var states: some AsyncSequence<HTTPTask.State, Never> & Sendable {
    LatestValues(broadcast: core.status.states, owner: core.status)
  }
  /// The progress of the whole file, including the bytes of earlier downloads. It falls if the download has to begin again.
  public var progress: HTTPProgress { core.status.progress }
  /// Returns the current progress of the whole file, and then each change. A slow reader gets the newest figures, and misses
  /// those in between. The sequence ends with the download. Each reader reads independently of the others.
  public func progressUpdates() -> some AsyncSequence<HTTPProgress, Never> & Sendable {
    LatestValues(broadcast: core.status.updates, owner: core.status)
  }
  /// The facts that another download needs to continue this one. Nil if it would have to begin again.
  public var resumeData: ResumeData? { core.machine.data }

  /// Begins the download, or continues it after a pause.
  public func resume() { core.send(.resumed) }

  /// Pauses the download: gives up the connection, and keeps the received bytes.
  public func pause() { core.send(.paused) }

  /// Cancels the download, which ends with `cancelled`, unless it is already over.
  ///
  /// - Parameter keepsFiles: Whether the received bytes are kept, so that another download can continue with them. Default:
  ///   false, they are removed.
  public func cancel(keepsFiles: Bool = false) { core.send(keepsFiles ? .stopped : .cancelled) }
}

extension HTTPProgressTree {
  /// Adds a download. It has a fraction once the length of the file is known.
  ///
  /// - Parameters:
  ///   - download: The download, in any state.
  ///   - weight: The weight of the download's fraction among the others. Less than 0 counts as 0. Default: 1.
  public func add(_ download: HTTPDownload, weight: Double = 1) {
    add(download.core.status, weight: weight) { [core = download.core] in core.send(.stopped) }
  }
}

extension HTTPSessionManager {
  /// Creates a suspended download that can be paused, and that continues with the bytes that an earlier download has left.
  /// `resume()` begins it.
  ///
  /// The file gets the bytes that the server stores, because the request asks the server not to compress them. A response with
  /// an error status is an error, and is never written to the file. There is one exception: if all bytes had already arrived, the
  /// server may answer 416, and the download then succeeds with this status in its reply.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``. The method must be
  ///     GET. The download sets `Range` and `If-Range` itself.
  ///   - file: The place of the file.
  ///   - replacesExisting: Whether an existing file is replaced, atomically and at the end. Default: false, an existing file is
  ///     an error.
  ///   - createsFolders: Whether missing folders above the file are made. Default: false, a missing folder is an error.
  ///   - resumeData: The ``HTTPDownload/resumeData`` of an earlier download to the same place. Default: nil, the data beside
  ///     the file is used.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - completion: Called once by the executor of the options.
  /// - Returns: The download, which is suspended.
  public func resumableDownload(
    _ request: some RequestConvertible, to file: URL, replacesExisting: Bool = false, createsFolders: Bool = false,
    resumeData: ResumeData? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: @escaping @Sendable (Result<HTTPReply<URL>, HTTPError>) -> Void
  ) -> HTTPDownload {
    // A part of a compressed body is useless.
    let plan = plan(request, nil, options, .download, defaults: [.acceptEncoding: "identity"])
    let core = DownloadCore(self, plan, completion: completion)
    Task { core.load(file, replacesExisting: replacesExisting, createsFolders: createsFolders, resumeData) }
    return HTTPDownload(core)
  }

  /// Downloads a file, continues with the bytes that an earlier download has left, and returns when the file is complete.
  /// Cancelling the Swift task cancels the download, and keeps the received bytes.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``. The method must be
  ///     GET. The download sets `Range` and `If-Range` itself.
  ///   - file: The place of the file.
  ///   - replacesExisting: Whether an existing file is replaced, atomically and at the end. Default: false, an existing file is
  ///     an error.
  ///   - createsFolders: Whether missing folders above the file are made. Default: false, a missing folder is an error.
  ///   - resumeData: The ``HTTPDownload/resumeData`` of an earlier download to the same place. Default: nil, the data beside
  ///     the file is used.
  ///   - options: The options of the task. Options that are not set come from the session.
  /// - Throws: The error of the download; `cancelled` if the Swift task is cancelled.
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
    // The stream itself would end when the reader's task is cancelled, before the completion has run.
    let end = await withTaskCancellationHandler {
      await Task { await ends.first { _ in true } }.value
    } onCancel: {
      download.cancel(keepsFiles: true)
    }
    return try (end ?? .failure(HTTPError(.cancelled, "cancel"))).get()
  }
}
