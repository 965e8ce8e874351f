import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

extension NetworkMonitor {
  /// Starts a monitor on the kernel's netlink, with its own thread. Needs no privilege.
  ///
  /// If the target is the internet or an address, the path is known when this method returns, after about a millisecond:
  /// ``NetworkMonitor/currentPath`` is the kernel's current answer. If the target is a host, the method returns when a
  /// resolver has answered for its name. If none answers within two seconds, it returns with the status unknown.
  ///
  /// - Parameters:
  ///   - configuration: The target and the options of the monitor. Default: the internet as target, and the default options.
  ///   - other: A monitor whose thread and netlink socket this one shares, so that several targets cost little more than one.
  ///     Each monitor continues when the others stop. Default: nil, no sharing.
  /// - Returns: The running monitor.
  /// - Throws: A ``NetworkMonitorError`` if netlink is not permitted, if the system has no thread or descriptor left, or if the
  ///   target is not a valid host name (`EINVAL`).
  public static func start(
    _ configuration: MonitorConfiguration = .init(), sharing other: NetworkMonitor? = nil
  ) throws(NetworkMonitorError) -> NetworkMonitor {
    do {
      let shared = try other?.origin as? SharedNetlink ?? SharedNetlink.start()
      do {
        return try shared.monitor(configuration)
      } catch let error as SystemError where error.code == ECANCELED && other != nil {
        // The other monitor has just ended, and its thread with it.
        return try SharedNetlink.start().monitor(configuration)
      }
    } catch let error as NetworkMonitorError {
      throw error
    } catch let error as PlainError {
      throw NetworkMonitorError(operation: "start", code: EINVAL, description: error.description)
    } catch let error as SystemError {
      throw error.asMonitorError
    } catch {
      throw NetworkMonitorError(operation: "start", code: 0, description: "\(error)")
    }
  }

  /// Starts a monitor for one target with default options. See `start(_:sharing:)`.
  ///
  /// - Parameters:
  ///   - target: The target whose reachability is monitored.
  ///   - other: A monitor whose thread and netlink socket this one shares. Default: nil, no sharing.
  /// - Returns: The running monitor.
  /// - Throws: A ``NetworkMonitorError`` if netlink is not permitted, if the system has no thread or descriptor left, or if the
  ///   target is not a valid host name (`EINVAL`).
  public static func start(
    target: NetworkTarget, sharing other: NetworkMonitor? = nil
  ) throws(NetworkMonitorError) -> NetworkMonitor {
    var configuration = MonitorConfiguration()
    configuration.target = target
    return try start(configuration, sharing: other)
  }
}
