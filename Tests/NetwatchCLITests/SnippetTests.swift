import Foundation
import Testing

@testable import NetwatchCLI

@Suite struct SnippetTests {
  /// NETWATCH_UPDATE_GOLDEN=1 writes them instead.
  @Test(arguments: Snippet.allCases)
  func `what is printed is what contrib tries in the bar`(bar: Snippet) throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../contrib/bars")
    let file = folder.appending(path: bar.rawValue)
    if ProcessInfo.processInfo.environment["NETWATCH_UPDATE_GOLDEN"] != nil {
      try Data((bar.text + "\n").utf8).write(to: file)
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == bar.text + "\n")
  }

  /// A name that one command understands, the other does too.
  @Test func `a snippet names a format that there is`() throws {
    for bar in Snippet.allCases {
      #expect(OutputFormat(rawValue: bar.rawValue) != nil)
      #expect(bar.text.contains("--format \(bar.rawValue)"))
    }
  }
}
