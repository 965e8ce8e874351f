import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// Prints records for people, bars or collectors. Each record is one write.
protocol LineRenderer: AnyObject {
  /// Starts to watch what lines depend on, such as the size of the terminal or the clicks of a bar.
  ///
  /// - Parameter failed: The closure that is called if something fails outside of ``print(_:_:to:)``.
  func prepare(on loop: EventLoop, failed: @escaping (any Error) -> Void) throws
  /// Prints the line of a record, if it has one.
  ///
  /// - Returns: Whether the record has a line.
  func print(_ record: EventRecord, _ names: LineNames, to output: StandardOutput) throws(PlainError) -> Bool
  /// Prints the last line of a bar when netwatch cannot continue.
  func printEnd(to output: StandardOutput) throws(PlainError)
}

extension LineRenderer {
  func prepare(on loop: EventLoop, failed: @escaping (any Error) -> Void) {}
  func printEnd(to output: StandardOutput) throws(PlainError) {}
}

/// The names that a line may have beyond its record. Each is looked up when it is asked for.
struct LineNames {
  /// Returns the programs whose connections are in flight, or nil if these are not counted. Nil if lines do not name them.
  var programs: (() -> [NamedCount]?)?
  /// Returns the requests that a service counts.
  var requests: () -> [NamedCount] = { [] }
  /// Returns the ID of the network, or nil while it is not known. Nil if lines do not have the ID.
  var network: (() -> NetworkIdentity?)?
}

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
