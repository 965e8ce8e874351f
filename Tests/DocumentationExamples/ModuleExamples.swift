import Glibc
import Netwatch
import NetwatchLines
import NetwatchLog
import NetwatchNetlink
import NetwatchObservation
import NetwatchStream

/// The code on the pages of the modules, and of the article on the event stream.
struct ModuleExamples {
  func look() throws {
    let monitor = try NetworkMonitor.start()
    print(monitor.currentPath)  // wired eth0, 10.0.0.2
  }

  func start() throws -> NetworkMonitor {
    let monitor = try NetworkMonitor.start()
    print(monitor.currentPath.status)
    return monitor
  }

  @MainActor func makeModel(_ indicator: ActivityIndicator) throws -> NetworkModel {
    let model = NetworkModel(try NetworkMonitor.start(), activity: indicator)
    print(model.path, model.activity?.count ?? 0)
    return model
  }

  func startOrExplain() -> NetworkMonitor? {
    do {
      return try NetworkMonitor.start()
    } catch {
      print("\(error.description) (\(error.operation): \(error.code))")
      return nil
    }
  }

  func follow() throws {
    let monitor = try PolledMonitor(["interface=enp*"])
    print(monitor.record.path.status)
    monitor.onChange = { [unowned monitor] in print(monitor.record.reason) }
    var waiting = pollfd(fd: monitor.descriptor, events: Int16(POLLIN), revents: 0)
    while unsafe poll(&waiting, 1, -1) == 1 { _ = try monitor.dispatch() }
  }

  func listOutages() async throws {
    for try await outage in try NetworkLog().outages() {
      print(outage)  // 2026-11-21T08:15:00Z: 12.0 seconds, no carrier, wired eth0
    }
  }

  func line(of path: NetworkPath, number: UInt64, at nanoseconds: Int64) -> [UInt8] {
    var writer = JSONLineWriter()
    let record = EventRecord(
      sequence: number, nanosecondsSince1970: nanoseconds, monotonicNanoseconds: 0, event: .reachability, path: path)
    writer.write(record)
    return writer.line
  }

  @MainActor func showState(in label: Label) async throws {
    for await record in try EventStream() {
      label.text = record.activity.state.isVisible ? "\(record.path.status), busy" : "\(record.path.status)"
    }
  }
}
