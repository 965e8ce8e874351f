import Netwatch

/// The code of the article on reachability about figures.
struct TrafficExamples {
  func measure(_ monitor: NetworkMonitor) async {
    for await traffic in monitor.traffic(every: .seconds(2)) {
      print(traffic.interfaceName, traffic.receivedBitsPerSecond ?? 0, traffic.sentBitsPerSecond ?? 0)
    }
  }
}
