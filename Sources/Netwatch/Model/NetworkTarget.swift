public struct HostName: Hashable, Sendable { public let text: String }
public enum NetworkTarget: Hashable, Sendable {
  case internet
  case address(IPAddress, port: UInt16?)
  case host(HostName, port: UInt16?)
}
extension NetworkTarget {
  public var port: UInt16? {
    switch self {
    case .internet: nil;
    case .address(_, let p), .host(_, let p): p
    }
  }
}
