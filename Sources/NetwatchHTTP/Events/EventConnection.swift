import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// One request of a stream of server-sent events, and the body of its response. It is cancelled when its last reference is
/// released.
///
/// It is created suspended, so that it represents the waiting stream in its session: it ends with the session.
final class EventConnection: Sendable {
  private let place: (id: RequestID, engine: EngineHandle)
  private let buffer = BodyBuffer()

  init(_ plan: RequestPlan, in session: HTTPSessionManager) {
    place = session.engines.next()
    session.begin(
      plan, place, isSuspended: true,
      makeSink: { [buffer] goOn in
        buffer.onNews(goOn)
        return buffer
      },
      { [buffer] outcome, end in
        buffer.finish(outcome.map { _ in () })
        end.fulfill()
      })
  }

  deinit { cancel() }

  /// Sends the request, unless it was cancelled.
  func resume() { place.engine.run(place.id) { $0.resume() } }

  func cancel() { place.engine.cancel(place.id) }

  /// Waits for the head of the response. Cancelling the Swift task cancels the request.
  func head() async -> Result<HTTPReply<Void>, HTTPError> {
    await withTaskCancellationHandler {
      do throws(HTTPError) {
        return .success(try await buffer.head())
      } catch {
        return .failure(error)
      }
    } onCancel: {
      cancel()
    }
  }

  /// Waits for the next part of the body, which is nil at its end. Cancelling the Swift task cancels the request.
  func next() async -> Result<Data?, HTTPError> {
    await withTaskCancellationHandler {
      do throws(HTTPError) {
        return .success(try await buffer.next())
      } catch {
        return .failure(error)
      }
    } onCancel: {
      cancel()
    }
  }
}
