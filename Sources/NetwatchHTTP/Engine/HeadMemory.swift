import Glibc
import HTTPTypes

/// What a session remembers of the heads that its servers have sent: the next ones are much the same.
final class HeadMemory {
  private var names = FieldNames()
  var last: KnownHead?

  /// Nil for what is no name.
  func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? { unsafe names.name(bytes) }
}

/// A head that has been read. One that is the same, to the byte, need not be.
@safe final class KnownHead {
  /// A longer one is not remembered.
  static let mostBytes = 4_096

  /// Lives as long as this.
  let text: UnsafeRawBufferPointer
  let response: HTTPResponse
  let code: Int
  let bodyLength: Int64?
  let codings: BodyCodings

  init(text: [UInt8], response: HTTPResponse, code: Int, bodyLength: Int64?, codings: BodyCodings) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
    unsafe copy.copyBytes(from: text)
    unsafe self.text = UnsafeRawBufferPointer(copy)
    self.response = response
    self.code = code
    self.bodyLength = bodyLength
    self.codings = codings
  }

  deinit { unsafe text.deallocate() }
}

/// The names of fields that servers have sent. They send the same ones again and again, and to check one takes a while.
struct FieldNames {
  /// A server that thinks up names gains nothing.
  private static let capacity = 64

  private var known: [(bytes: [UInt8], name: HTTPField.Name)] = []
  /// Where the next new one goes.
  private var next = 0
  /// Behind the one that was found last: the next head has them in the same order.
  private var cursor = 0

  /// Nil for what is no name.
  mutating func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
    for offset in known.indices {
      var index = cursor + offset
      if index >= known.count { index -= known.count }
      if known[index].bytes.count == bytes.count, unsafe known[index].bytes.elementsEqual(bytes) {
        cursor = index + 1 == known.count ? 0 : index + 1
        return known[index].name
      }
    }
    guard let name = unsafe HTTPField.Name(String(decoding: bytes, as: UTF8.self)) else { return nil }
    if known.count < Self.capacity {
      unsafe known.append(([UInt8](bytes), name))
    } else {
      known[next] = unsafe ([UInt8](bytes), name)
      next = (next + 1) % Self.capacity
    }
    return name
  }
}
