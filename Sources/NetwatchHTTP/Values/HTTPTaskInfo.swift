import Netwatch

/// Information that identifies a task: its id, its kind and its label.
public struct HTTPTaskInfo: Hashable, Sendable {
  /// The kinds of tasks, by how they handle the response.
  public enum Kind: Hashable, Sendable {
    /// The response is kept in memory, or decoded.
    case data
    /// An upload function sends a body, and the response is kept in memory.
    case upload
    /// The response is written to a file.
    case download
    /// The response is read while it arrives.
    case stream
  }

  /// The id by which a `RequestObserver` knows the task.
  public let id: RequestID
  /// The kind of the task.
  public let kind: Kind
  /// The task's ``HTTPTaskOptions/label``. Nil if it has none.
  public let label: String?
}
