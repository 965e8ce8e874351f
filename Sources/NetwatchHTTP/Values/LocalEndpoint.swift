import Netwatch

/// Where the connections of a session leave this machine.
///
/// Host names are looked up as always: the question to a name server does not leave from there.
public enum LocalEndpoint: Hashable, Sendable {
  /// The interface with this name, such as `eth0` or `wg0`. If the kernel does not permit the program to bind a connection to an
  /// interface (Linux before 5.7 wants CAP_NET_RAW), the connection leaves from an address of the interface.
  case interface(String)
  /// A local address, such as `127.0.0.2`. Servers with an address of the other family cannot be reached.
  case address(IPAddress)
}
