import Netwatch

/// The local interface or address that the connections of a session leave from.
///
/// Name lookups do not use it: queries to a name server leave this machine as usual.
public enum LocalEndpoint: Hashable, Sendable {
  /// The interface with this name, such as `eth0` or `wg0`. If the kernel does not permit the program to bind to an interface
  /// (Linux before 5.7 requires CAP_NET_RAW), the connection leaves from an address of the interface.
  case interface(String)
  /// A local address, such as `127.0.0.2`. Servers that only have addresses of the other family cannot be reached.
  case address(IPAddress)
}
