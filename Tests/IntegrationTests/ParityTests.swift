import Foundation
import Netwatch
import NetwatchTestSupport
import Testing

/// The tables in `contrib/examples/parity` are true: their calls compile, and their tests exist.
@Suite struct ParityTests {
  private static let folder = "contrib/examples/parity"

  @Test(arguments: [("AFNetworking", 100), ("Alamofire", 100), ("NWPathMonitor", 30)])
  func `each row has a call that compiles and a test, or a reason`(_ library: String, _ leastRows: Int) throws {
    let table = try String(contentsOfFile: "\(Self.folder)/\(library).md", encoding: .utf8)
    #expect(try Self.faults(of: table, code: Self.code, tests: Self.tests) == [])
    #expect(Self.rows(of: table).count > leastRows)
  }

  @Test func `a call that does not compile, a test that is gone and an empty cell are faults`() {
    let rows = [
      "| Theirs | Here | Test |", "|---|---|---|",
      "| `a` | `b(1)` | ATests: b is one |", "| `c` | not on Linux: it is Apple's | none |",
      "| `d` | missing: not yet | none |", "| `k` | not on Linux: it is Apple's | ATests: b is one |",
      "| `e` | `b(2)` | ATests: b is one |", "| `f` | `b(1)` | ATests: b is two |", "| `g` | not on Linux: | none |",
      "| `h` |  | none |", "| `i` | by itself | ATests: b is one |", "| `j` | `b(1)` | none |", "| `k` | `b(1)` |",
    ]
    let faults = Self.faults(of: rows.joined(separator: "\n"), code: "b(1)", tests: ["ATests: b is one"])
    #expect(
      faults == [
        "`d`: there is no call", "`k`: what is not there has no test", "`e`: 'b(2)' is not in the code",
        "`f`: there is no test 'ATests: b is two'", "`g`: the reason is missing",
        "`h`: there is no call", "`i`: there is no call", "`j`: there is no test 'none'",
        "| `k` | `b(1)` |: a row has 3 cells",
      ])
  }

  /// These are the answers of AFNetworking's manager for links of these kinds. It counts a cable as WiFi.
  @Test(
    arguments: [
      ("eth0", DeviceTraits(), "isReachableViaWiFi"), ("wlan0", DeviceTraits(type: "wlan"), "isReachableViaWiFi"),
      ("wwan0", DeviceTraits(type: "wwan"), "isReachableViaWWAN"), (nil, DeviceTraits(), nil),
    ] as [(String?, DeviceTraits, String?)])
  func `on a cable, WiFi and WWAN the values are AFNetworking's`(
    _ name: String?, _ device: DeviceTraits, _ property: String?
  ) throws {
    var kernel = ScriptedKernel(.withInterfaces)
    kernel.facts = [.loopback]
    if let name {
      kernel.facts += [.link(2, name, .unknown, device: device), .address(2, .ip("10.0.0.1"))]
      kernel.answers[.ipv4] = .via(2, nil, from: .ip("10.0.0.1"))
    }
    kernel.start()
    let path = try #require(kernel.published.last)
    // These are the calls in the table.
    #expect((path.status == .wifi) == (property == "isReachableViaWiFi"))
    #expect((path.status == .wwan) == (property == "isReachableViaWWAN"))
    #expect(path.isReachable == (property != nil))
    let words = ["isReachableViaWiFi": "wifi", "isReachableViaWWAN": "wwan"]
    #expect(path.status.rawValue == property.flatMap { words[$0] } ?? "not-reachable")
  }

  // MARK: Reading

  /// Returns the rows of a table, without its head.
  private static func rows(of table: String) -> [String] {
    table.split(separator: "\n").map(String.init).filter { line in
      line.hasPrefix("|") && !line.hasPrefix("|---") && !line.contains("| Here | Test |")
    }
  }

  private static func faults(of table: String, code: String, tests: Set<String>) -> [String] {
    rows(of: table).compactMap { row in
      let cells = row.components(separatedBy: "|").dropFirst().dropLast().map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      guard cells.count == 3, !cells[0].isEmpty else { return "\(row): a row has 3 cells" }
      return fault(cells[1], cells[2], code, tests).map { "\(cells[0]): \($0)" }
    }
  }

  private static func fault(_ here: String, _ test: String, _ code: String, _ tests: Set<String>) -> String? {
    let mark = "not on Linux:"
    if here.hasPrefix(mark) {
      guard here.count > mark.count + 1 else { return "the reason is missing" }
      return test == "none" ? nil : "what is not there has no test"
    }
    // A call is what stands between two backquotes.
    let calls = here.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    guard !calls.isEmpty else { return "there is no call" }
    if let call = calls.first(where: { !code.contains($0) }) { return "'\(call)' is not in the code" }
    return tests.contains(test) ? nil : "there is no test '\(test)'"
  }

  /// The widgets of GTK are in a package of their own, whose trial compiles the calls and tests them.
  private static let trialOfGTK = "contrib/bindings/gtk/Sources/GTKTrial/GTKTrial.swift"

  /// The code of the calls, which the target DocumentationExamples compiles. Line breaks are replaced by spaces.
  private static var code: String {
    get throws {
      let calls = ["AFNetworking", "Alamofire", "NWPathMonitor"].map { "Tests/DocumentationExamples/\($0)Calls.swift" }
      return try (calls + [trialOfGTK]).map { file in
        try String(contentsOfFile: file, encoding: .utf8).split(whereSeparator: \.isWhitespace)
          .joined(separator: " ")
      }.joined(separator: " ")
    }
  }

  /// The names of all tests, each as `Suite: name`.
  private static var tests: Set<String> {
    get throws {
      var tests: Set<String> = []
      for path in try FileManager.default.subpathsOfDirectory(atPath: "Tests") where path.hasSuffix("Tests.swift") {
        let suite = URL(filePath: path).deletingPathExtension().lastPathComponent
        let names = try String(contentsOfFile: "Tests/\(path)", encoding: .utf8).components(separatedBy: "func `")
        for name in names.dropFirst() { tests.insert("\(suite): \(name.prefix { $0 != "`" })") }
      }
      let expectations = try String(contentsOfFile: trialOfGTK, encoding: .utf8).components(separatedBy: "expect(\"")
      for text in expectations.dropFirst() { tests.insert("GTKTrial: \(text.prefix { $0 != "\"" })") }
      return tests
    }
  }
}
