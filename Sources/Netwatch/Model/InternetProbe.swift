/// A request to a server in the internet that shows whether the internet answers. See ``MonitorConfiguration/probe``.
///
/// `import NetwatchHTTP` has one, `HTTPInternetProbe`; write your own to ask in another way.
public protocol InternetProbe: Sendable {
  /// The name of the server, for the stage ``NetworkStage/dns``. Nil if it has an address, or none is to be looked up.
  var host: String? { get }

  /// Asks the server once. The task is cancelled if the answer is not needed any more, or has not come within 12 seconds.
  ///
  /// - Parameter interface: The name of the link over which the request has to leave: the outermost tunnel if there is one, else the
  ///   link that carries the traffic.
  /// - Returns: What the answer proves, and the address of the login page if a captive portal has answered.
  func ask(over interface: String) async -> (access: InternetAccess, portal: PortalURL?)
}
