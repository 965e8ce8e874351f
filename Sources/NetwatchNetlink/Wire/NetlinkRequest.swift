import CLibNetlink
import Glibc

/// A request as bytes, built by libnl. The ones that are sent for every event are built once.
struct NetlinkRequest {
  private(set) var bytes: [UInt8]
  /// The answer is a list, and its end is told.
  let isListing: Bool
  /// It uses what some kernels do not know, and refuse.
  var hasOptions = false
  private static let sequenceOffset = 8

  static func build(
    _ type: Int, flags: CInt, _ fill: (OpaquePointer) -> Bool
  ) throws(NetlinkError) -> NetlinkRequest {
    guard let message = unsafe nlmsg_alloc_simple(CInt(type), NLM_F_REQUEST | flags) else {
      throw NetlinkError(operation: "nlmsg_alloc_simple", code: ENOMEM)
    }
    defer { unsafe nlmsg_free(message) }
    guard unsafe fill(message), let header = unsafe nlmsg_hdr(message) else {
      throw NetlinkError(operation: "nla_put", code: ENOMEM)
    }
    let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: header, count: Int(header.pointee.nlmsg_len)))
    return NetlinkRequest(bytes: bytes, isListing: flags & NLM_F_DUMP != 0)
  }

  /// Adds the header of the family's own, which stands behind that of netlink.
  static func append<Header: BitwiseCopyable>(_ header: Header, to message: OpaquePointer) -> Bool {
    var header = header
    return unsafe nlmsg_append(message, &header, MemoryLayout<Header>.size, CInt(NLMSG_ALIGNTO)) == 0
  }

  mutating func setSequence(_ sequence: UInt32) { set(sequence, at: Self.sequenceOffset) }

  mutating func set<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
    unsafe bytes.withUnsafeMutableBytes { unsafe $0.storeBytes(of: value, toByteOffset: offset, as: Value.self) }
  }
}
