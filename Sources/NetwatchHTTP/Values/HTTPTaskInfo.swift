import Netwatch

/// What a task is: its id, its kind, and what its owner calls it.
public struct HTTPTaskInfo: Hashable, Sendable {
  /// The kinds of tasks, by what becomes of the response.
  public enum Kind: Hashable, Sendable {
    /// The response is kept in memory, or decoded.
    case data
    /// A body is sent by an upload function, and the response is kept in memory.
    case upload
    /// The response becomes a file.
    case download
    /// The response is read as it comes.
    case stream
  }

  /// The id by which a `RequestObserver` knows the task.
  public let id: RequestID
  public let kind: Kind
  /// ``HTTPTaskOptions/label`` of the task. Nil if it has none.
  public let label: String?
}
