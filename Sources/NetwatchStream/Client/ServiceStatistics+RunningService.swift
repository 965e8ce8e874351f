import NetwatchEventLoop

extension ServiceStatistics {
  /// Asks the service that a client would find for its counters, and waits for the response.
  ///
  /// - Parameters:
  ///   - addresses: The addresses of services, tried in this order.
  ///   - time: The time that the service has to respond. Default: 1 second.
  ///   - isOfOurNetwork: Whether the service has to be in the network namespace of the calling thread. Default: false.
  /// - Returns: The counters. Nil if there is no service, or it does not respond in time.
  package static func ofRunningService(
    _ addresses: [ServiceAddress] = ServiceAddress.candidates, within time: Duration = .seconds(1),
    ofOurNetwork isOfOurNetwork: Bool = false
  ) -> ServiceStatistics? {
    guard let loop = try? EventLoop() else { return nil }
    var statistics: ServiceStatistics?
    let link = ServiceLink(
      to: addresses, on: loop,
      statistics: { [unowned loop] answer in
        statistics = answer
        loop.stop()
      }, lost: { [unowned loop] in loop.stop() })
    link.asksForStatistics = true
    link.connect()
    guard link.isConnected || link.isBusy else { return nil }
    loop.schedule(after: time) { [unowned loop] in loop.stop() }
    try? loop.run()
    return isOfOurNetwork && !link.sharesNetwork ? nil : statistics
  }
}
