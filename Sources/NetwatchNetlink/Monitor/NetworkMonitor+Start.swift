import Glibc
import Netwatch
import NetwatchEventLoop

extension NetworkMonitor {
  /// Starts a monitor on the kernel's netlink, with a thread of its own. Needs no privilege.
  ///
  /// When it returns the path is known: ``NetworkMonitor/currentPath`` is the kernel's present answer. This takes about a
  /// millisecond, during which the caller waits; with a host as target, as long as its name takes to resolve, two seconds at
  /// most.
  /// - Parameter other: a monitor whose thread and netlink socket this one shares. Several targets cost little more than one
  ///   this way. Each of them runs on for itself when others stop.
  /// - Throws: ``NetworkMonitorError`` where netlink is not permitted.
  public static func start(
    _ configuration: MonitorConfiguration = .init(), sharing other: NetworkMonitor? = nil
  ) throws(NetworkMonitorError) -> NetworkMonitor {
    do {
      let shared = try other?.origin as? SharedNetlink ?? SharedNetlink.start()
      do {
        return try shared.monitor(configuration)
      } catch let error as SystemError where error.code == ECANCELED && other != nil {
        // The other one has just ended, and its thread with it.
        return try SharedNetlink.start().monitor(configuration)
      }
    } catch let error as NetworkMonitorError {
      throw error
    } catch let error as PlainError {
      throw NetworkMonitorError(operation: "start", code: EINVAL, description: error.description)
    } catch let error as NetlinkError {
      throw error.asMonitorError
    } catch let error as SystemError {
      throw NetworkMonitorError(operation: error.operation, code: error.code, description: error.description)
    } catch {
      throw NetworkMonitorError(operation: "start", code: 0, description: "\(error)")
    }
  }

  /// The same for one target, with everything else as usual.
  public static func start(
    target: NetworkTarget, sharing other: NetworkMonitor? = nil
  ) throws(NetworkMonitorError) -> NetworkMonitor {
    var configuration = MonitorConfiguration()
    configuration.target = target
    return try start(configuration, sharing: other)
  }
}
