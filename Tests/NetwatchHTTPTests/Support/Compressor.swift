import CLibZ
import Foundation

@testable import NetwatchHTTP

/// The formats in which servers send compressed bodies.
enum Compressor: CaseIterable {
  case gzip
  case zlib
  case rawDeflate
  case brotli
  case zstd

  private typealias Room = UnsafeMutableBufferPointer<UInt8>
  private typealias Input = UnsafeBufferPointer<UInt8>

  /// The content coding that a server states for this format.
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

  /// - Returns: The number of bytes that were written; 0 if the compression has failed.
  private func fill(_ room: Room, with input: Input) -> Int {
    switch self {
    case .gzip: return unsafe Self.deflate(input, into: room, windowBits: 15 + 16)
    case .zlib: return unsafe Self.deflate(input, into: room, windowBits: 15)
    case .rawDeflate: return unsafe Self.deflate(input, into: room, windowBits: -15)
    case .brotli: return unsafe Self.store(Self.brotli(input), in: room)
    case .zstd: return unsafe Self.store(Self.zstd(input), in: room)
    }
  }

  private static func store(_ bytes: [UInt8], in room: Room) -> Int {
    _ = unsafe room.initialize(fromContentsOf: bytes)
    return bytes.count
  }

  /// Returns a brotli stream of uncompressed blocks (RFC 7932, section 9.2), so that no brotli compressor has to be
  /// installed.
  private static func brotli(_ input: Input) -> [UInt8] {
    var bytes: [UInt8] = []
    for block in unsafe [UInt8](input).chunks(of: 65_536) {
      // The header of a block: WBITS 16 in one bit, before the first block only; ISLAST 0; a length of four nibbles;
      // ISUNCOMPRESSED 1.
      let length = UInt32(block.count - 1)
      let header = length << 3 | 1 << 19
      let bits = bytes.isEmpty ? header << 1 : header
      bytes += (0..<3).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) } + block
    }
    // The last block is empty.
    return bytes + [bytes.isEmpty ? 0b110 : 0b11]
  }

  /// Returns a zstd frame of uncompressed blocks (RFC 8878, section 3.1.1).
  private static func zstd(_ input: Input) -> [UInt8] {
    // The frame begins with the magic number, a descriptor that states nothing about the content, and a window of 128
    // KiB.
    var bytes: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x38]
    for block in unsafe [UInt8](input).chunks(of: 65_536) {
      let header = UInt32(block.count) << 3
      bytes += (0..<3).map { UInt8(truncatingIfNeeded: header >> (8 * $0)) } + block
    }
    return bytes + [1, 0, 0]
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

extension [UInt8] {
  fileprivate func chunks(of count: Int) -> [ArraySlice<UInt8>] {
    stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
  }
}
