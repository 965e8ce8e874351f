import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// Prints records for people, bars or collectors. Each record is one write.
protocol LineRenderer: AnyObject {
  /// Starts to watch what lines depend on, such as the size of the terminal or the clicks of a bar.
  func prepare(on loop: EventLoop) throws
  func print(_ record: EventRecord, to output: StandardOutput) throws(PlainError)
  /// Returns whether a record gives a line. `print` prints nothing for other records.
  func shows(_ record: EventRecord) -> Bool
  /// Sets the closure that returns the programs whose connections are in flight. From now on, lines also name them.
  func namePrograms(_ body: @escaping (EventRecord) -> [NamedCount]?)
  /// Sets the closure that returns the requests that the service counts. From now on, text that explains also names them.
  func nameRequests(_ body: @escaping (EventRecord) -> [NamedCount])
  /// Sets the closure that returns the ID of the network. From now on, lines also have it.
  func nameNetwork(_ body: @escaping () -> NetworkIdentity?)
  /// Sets the closure that is called if something fails outside of ``print(_:to:)``.
  func onFailure(_ body: @escaping (any Error) -> Void)
  /// Prints the last line of a bar when netwatch cannot continue.
  func printEnd(to output: StandardOutput) throws(PlainError)
}

extension LineRenderer {
  func prepare(on loop: EventLoop) {}
  func shows(_ record: EventRecord) -> Bool { true }
  func namePrograms(_ body: @escaping (EventRecord) -> [NamedCount]?) {}
  func nameRequests(_ body: @escaping (EventRecord) -> [NamedCount]) {}
  func nameNetwork(_ body: @escaping () -> NetworkIdentity?) {}
  func onFailure(_ body: @escaping (any Error) -> Void) {}
  func printEnd(to output: StandardOutput) throws(PlainError) {}
}
