import Netwatch
import NetwatchStream

/// Prints each record as a line of JSON.
final class JSONRenderer: LineRenderer {
  private var writer = JSONLineWriter()
  private var programs: ((EventRecord) -> [NamedCount]?)?
  private var network: (() -> NetworkIdentity?)?

  /// - Parameter target: The target that the paths of records lead to.
  init(about target: NetworkTarget) { writer.target = target }

  func print(_ record: EventRecord, to output: StandardOutput) throws(PlainError) {
    writer.write(record, programs: programs?(record), network: network.map { $0() })
    try writer.withLine { line throws(PlainError) in try output.write(line) }
  }

  func namePrograms(_ body: @escaping (EventRecord) -> [NamedCount]?) { programs = body }

  func nameNetwork(_ body: @escaping () -> NetworkIdentity?) { network = body }
}
