import Foundation
import Testing

/// Tests that the articles show code that compiles and lines that are valid. ReadmeTests has those of the README.
@Suite struct DocumentationTests {
  private static let catalogs = [
    "Netwatch", "NetwatchNetlink", "NetwatchStream", "NetwatchHTTP", "NetwatchHTTPFoundation",
  ].map { "Sources/\($0)/\($0).docc" }

  private static var pages: [String] {
    get throws {
      try catalogs.flatMap { folder in
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".md") }.map {
          "\(folder)/\($0)"
        }
      }
    }
  }

  /// Returns the code without imports, empty lines and indentation.
  private static func normalized(_ code: String) -> String {
    code.split(separator: "\n").filter { !$0.hasPrefix("import ") }
      .map { $0.split(separator: " ").joined(separator: " ") }.joined(separator: "\n") + "\n"
  }

  private static var examples: String {
    get throws {
      let folder = "Tests/DocumentationExamples"
      let files = try FileManager.default.contentsOfDirectory(atPath: folder).map { "\(folder)/\($0)" }
      return try (files + ["Tests/ReadmeHTTPExample/main.swift"]).map { file in
        normalized(try String(contentsOfFile: file, encoding: .utf8))
      }.joined(separator: "\n")
    }
  }

  @Test func `the code of every page stands in Tests DocumentationExamples`() throws {
    let examples = try Self.examples
    var count = 0
    for page in try Self.pages {
      for part in try String(contentsOfFile: page, encoding: .utf8).components(separatedBy: "```swift\n").dropFirst() {
        let code = part.components(separatedBy: "```")[0]
        count += 1
        #expect(examples.contains(Self.normalized(code)), "\(page):\n\(code)")
      }
    }
    #expect(count > 10)
  }

  @Test func `lines of the stream that pages show are valid`() throws {
    var count = 0
    for page in try Self.pages {
      for line in try String(contentsOfFile: page, encoding: .utf8).split(separator: "\n")
      where line.hasPrefix(#"{"v":1,"seq""#) {
        count += 1
        _ = try Line(String(line))
      }
    }
    #expect(count >= 2)
  }
}
