import CBrotliEncoder
import CLibZ
import CLibZstd
import Foundation

@testable import NetwatchHTTP

/// Bodies as servers compress them.
enum Compressor: CaseIterable {
  case gzip
  case zlib
  case rawDeflate
  case brotli
  case zstd

  private typealias Room = UnsafeMutableBufferPointer<UInt8>
  private typealias Input = UnsafeBufferPointer<UInt8>

  /// What the server says that it is.
  var coding: ContentCoding {
    switch self {
    case .gzip: .gzip
    case .zlib, .rawDeflate: .deflate
    case .brotli: .brotli
    case .zstd: .zstd
    }
  }

  func compress(_ data: Data) -> Data {
    let input = [UInt8](data)
    let body = unsafe [UInt8](unsafeUninitializedCapacity: data.count * 2 + 1_024) { room, count in
      unsafe input.withUnsafeBufferPointer { unsafe count = fill(room, with: $0) }
    }
    precondition(!body.isEmpty, "\(self) has failed")
    return Data(body)
  }

  /// - Returns: how long it is; 0 for a failure.
  private func fill(_ room: Room, with input: Input) -> Int {
    switch self {
    case .gzip: return unsafe Self.deflate(input, into: room, windowBits: 15 + 16)
    case .zlib: return unsafe Self.deflate(input, into: room, windowBits: 15)
    case .rawDeflate: return unsafe Self.deflate(input, into: room, windowBits: -15)
    case .brotli:
      var length = room.count
      let isDone = unsafe BrotliEncoderCompress(
        5, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, input.count, input.baseAddress, &length, room.baseAddress)
      return isDone == 1 ? length : 0
    case .zstd:
      let length = unsafe ZSTD_compress(room.baseAddress, room.count, input.baseAddress, input.count, 3)
      return ZSTD_isError(length) == 0 ? length : 0
    }
  }

  private static func deflate(_ input: Input, into room: Room, windowBits: CInt) -> Int {
    var stream = unsafe z_stream()
    let size = unsafe CInt(MemoryLayout<z_stream>.size)
    guard
      unsafe deflateInit2_(
        &stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK
    else { return 0 }
    defer { unsafe deflateEnd(&stream) }
    unsafe stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
    unsafe stream.avail_in = UInt32(input.count)
    unsafe stream.next_out = room.baseAddress
    unsafe stream.avail_out = UInt32(room.count)
    let isDone = unsafe CLibZ.deflate(&stream, Z_FINISH) == Z_STREAM_END
    return isDone ? unsafe (room.count - Int(stream.avail_out)) : 0
  }
}
