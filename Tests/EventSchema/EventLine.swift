import Foundation

/// A line of the event stream, held against contrib/event.schema.json.
public enum EventLine {
  private static let schema = SchemaFile("event.schema.json")

  /// Problems of one line; empty if it is fine.
  public static func problems(_ line: String) -> [String] { schema.problems(line) }
}

/// The line of `netwatch explain --json`, held against contrib/explain.schema.json.
public enum ExplanationLine {
  private static let schema = SchemaFile("explain.schema.json")

  /// Problems of one line; empty if it is fine.
  public static func problems(_ line: String) -> [String] { schema.problems(line) }
}

/// A schema of contrib.
private struct SchemaFile {
  private let schema: Result<JSONSchema, any Error>

  init(_ name: String) {
    schema = Result {
      let project = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
      return try JSONSchema(Data(contentsOf: project.appending(path: "contrib/\(name)").standardizedFileURL))
    }
  }

  func problems(_ line: String) -> [String] {
    let text = Data(line.hasSuffix("\n") ? line.utf8.dropLast() : line.utf8[...])
    guard !text.contains(UInt8(ascii: "\n")) else { return ["more than one line"] }
    do {
      return try schema.get().problems(JSONSchema.Value(text))
    } catch {
      return ["\(error)"]
    }
  }
}
