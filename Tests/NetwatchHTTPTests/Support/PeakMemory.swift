import Foundation
import Testing

/// The largest amount of memory that this process has had resident since its start.
enum PeakMemory {
  static func bytes() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    let number = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }
    return (try #require(number)) * 1_024
  }
}
