import Foundation

/// A line of the event stream, held against contrib/event.schema.json.
public enum EventLine {
  private static let schema = Result {
    let project = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    return try JSONSchema(Data(contentsOf: project.appending(path: "contrib/event.schema.json").standardizedFileURL))
  }

  /// Problems of one line; empty if it is fine.
  public static func problems(_ line: String) -> [String] {
    let text = Data(line.hasSuffix("\n") ? line.utf8.dropLast() : line.utf8[...])
    guard !text.contains(UInt8(ascii: "\n")) else { return ["more than one line"] }
    do {
      return try schema.get().problems(JSONSchema.Value(text))
    } catch {
      return ["\(error)"]
    }
  }
}
