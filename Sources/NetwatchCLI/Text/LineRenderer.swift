import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// Prints records for people, bars and collectors, each in one write.
protocol LineRenderer: AnyObject {
  /// Looks at the world where the look of a line depends on it.
  func prepare(on loop: EventLoop) throws
  func print(_ record: EventRecord, to output: StandardOutput) throws(PlainError)
  /// Whether a record gives a line; `print` prints nothing for those that do not.
  func shows(_ record: EventRecord) -> Bool
  /// From now on lines also name the programs whose connections are in flight, as `body` says.
  func namePrograms(_ body: @escaping (EventRecord) -> [NamedCount]?)
  /// From now on text that explains also names the requests that the service counts, as `body` says.
  func nameRequests(_ body: @escaping (EventRecord) -> [NamedCount])
  /// From now on lines also have the ID of the network, as `body` says.
  func nameNetwork(_ body: @escaping () -> NetworkIdentity?)
  /// Calls `body` if something fails that was not asked for just now.
  func onFailure(_ body: @escaping (any Error) -> Void)
  /// Prints what has to stay on a bar when netwatch cannot go on.
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
