import Netwatch
import Observation

/// The path of a monitor and the activity of an indicator, for user interfaces: each view that reads a property is updated when it
/// changes.
///
/// ```swift
/// let model = NetworkModel(try NetworkMonitor.start(), activity: indicator)
/// print(model.path.isReachable, model.activity?.count ?? 0)
/// ```
///
/// The model belongs to the main actor. It keeps the monitor and the indicator running, and ends with its last reference.
@MainActor @Observable public final class NetworkModel {
  /// The current path. Internet access, stages and quality are parts of it if the monitor's configuration asks for them.
  public private(set) var path: NetworkPath
  /// The state and the requests of the indicator; nil if the model was created without one.
  public private(set) var activity: ActivityIndicator.Activity?
  /// The error that ended the monitor; nil while it runs.
  public private(set) var failure: NetworkMonitorError?

  @ObservationIgnored private var readers: [Task<Void, Never>] = []

  /// Creates a model of a monitor that runs, and of an indicator.
  ///
  /// - Parameters:
  ///   - monitor: The monitor.
  ///   - indicator: The indicator. Default: nil, there is no activity.
  public init(_ monitor: NetworkMonitor, activity indicator: ActivityIndicator? = nil) {
    path = monitor.currentPath
    activity = indicator?.activity
    readers.append(
      Task { [weak self, paths = monitor.paths] in
        do throws(NetworkMonitorError) {
          for try await path in paths { self?.path = path }
        } catch {
          self?.failure = error
        }
      })
    if let activities = indicator?.activities {
      readers.append(
        Task { [weak self] in
          for await activity in activities { self?.activity = activity }
        })
    }
  }

  isolated deinit {
    for reader in readers { reader.cancel() }
  }
}
