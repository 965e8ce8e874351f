import Netwatch
import NetwatchEventLoop

/// The log that `netwatch --log` writes, for programs that read its outages.
///
/// ```swift
/// for try await outage in try NetworkLog().outages() { print(outage) }
/// ```
public struct NetworkLog: Sendable {
  private let place: LogPlace

  /// Finds a log.
  ///
  /// - Parameter path: The path of the file. Default: nil, this user's log, or else that of the system's service, as
  ///   `netwatch log` finds it.
  /// - Throws: A ``NetworkLogError`` if no variable of the environment names the user's folder, and there is no log of the system.
  public init(path: String? = nil) throws(NetworkLogError) {
    do {
      place = try path.map { LogPlace(path: $0) } ?? LogPlace.forReading()
    } catch {
      throw NetworkLogError(error)
    }
  }

  /// Returns the outages of the log in order, and then each new one, and each that is over. The log is followed while somebody holds
  /// the sequence, in a thread of its own.
  ///
  /// An outage that goes on comes twice: when it is known, with ``Outage/Ending/ongoing``, and when it is over.
  ///
  /// - Parameter moment: The time since which outages are of interest, in nanoseconds since 1970. One that ended earlier is left out.
  ///   Default: 0, all.
  /// - Returns: The sequence. It throws a ``NetworkLogError`` if there is no log or it cannot be read.
  public func outages(since moment: Int64 = 0) -> some AsyncSequence<Outage, any Error> & Sendable {
    AsyncThrowingStream { continuation in
      do {
        let (handle, follower) = try EventLoop.startInBackground(name: "netwatch-log") { loop in
          let follower = OutageFollower(place, since: moment / 1_000, on: loop, continuation)
          try follower.begin()
          return (loop.handle, LoopBound(follower, on: loop))
        }
        continuation.onTermination = { _ in handle.submit { follower.value(on: $0)?.end() } }
      } catch {
        continuation.finish(throwing: NetworkLogError(error))
      }
    }
  }
}

/// A log that cannot be found or read, in one sentence for a person.
public struct NetworkLogError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The sentence.
  public let description: String

  init(_ error: any Error) { description = "\(error)" }
}

/// Reads a log again whenever somebody has written to it. It belongs to the thread of its loop.
private final class OutageFollower {
  private let place: LogPlace
  private let moment: Int64
  private let loop: EventLoop
  private let continuation: AsyncThrowingStream<Outage, any Error>.Continuation
  private var watch: PathWatch?
  /// How each known outage has ended, by its beginning.
  private var known: [Int64: Outage.Ending] = [:]

  init(
    _ place: LogPlace, since moment: Int64, on loop: EventLoop,
    _ continuation: AsyncThrowingStream<Outage, any Error>.Continuation
  ) {
    self.place = place
    self.moment = moment
    self.loop = loop
    self.continuation = continuation
  }

  /// Watches first, so that no change is missed after the first reading.
  func begin() throws {
    // SQLite writes to the file with -wal, and to the database now and then.
    watch = try PathWatch(of: [place.file, "\(place.file)-wal"], hearsWrites: true, on: loop) { [unowned self] in read()
    }
    try tell()
  }

  /// Ends the loop, and with it the thread.
  func end() {
    watch = nil
    loop.stop()
  }

  private func read() {
    do {
      try tell()
    } catch {
      continuation.finish(throwing: NetworkLogError(error))
    }
  }

  private func tell() throws {
    for outage in try LogContents(reading: place, since: moment).history.since(moment).outages {
      if known.updateValue(outage.ending, forKey: outage.began) != outage.ending { continuation.yield(outage) }
    }
  }
}
