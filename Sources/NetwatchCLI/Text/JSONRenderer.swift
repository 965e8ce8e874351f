import Netwatch
import NetwatchStream

/// Prints each record as a line of JSON.
final class JSONRenderer: LineRenderer {
  private var writer = JSONLineWriter()

  /// - Parameter target: The target that the paths of records lead to.
  init(about target: NetworkTarget) { writer.target = target }

  func print(_ record: EventRecord, _ names: LineNames, to output: StandardOutput) throws(PlainError) -> Bool {
    writer.write(record, programs: names.programs?(), network: names.network.map { $0() })
    try writer.withLine { line throws(PlainError) in try output.write(line) }
    return true
  }
}
