import Foundation
import NetwatchTestSupport

enum Programs {
  /// Runs a program to its end, and fails where it fails.
  @discardableResult
  static func run(_ arguments: [String], input: String = "", in folder: URL? = nil) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    process.currentDirectoryURL = folder
    let (standardInput, output, errors) = (Foundation.Pipe(), Foundation.Pipe(), Foundation.Pipe())
    process.standardInput = standardInput
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    standardInput.fileHandleForWriting.write(Data(input.utf8))
    try standardInput.fileHandleForWriting.close()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw TestFailure("\(arguments): \(complaint)") }
    return text
  }
}
