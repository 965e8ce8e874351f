import Foundation
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of compressed bodies: whole ones, ones without their end, ones with bytes after their end, and ones whose
/// reader pauses.
@Suite struct BodyDecoderTests {
  /// A text that is longer than the buffer of a decoder.
  private static let text = Data((0..<20_000).map { "line \($0 &* 7_919 % 1_000)" }.joined(separator: "\n").utf8)

  /// Passes a body to a decoder as libcurl does: after a pause, the same piece comes again, with further bytes after
  /// it.
  private static func decode(
    _ codings: [ContentCoding], _ body: Data, step: Int = .max, pausing: Bool = false
  ) throws(HTTPError) -> Data {
    let decoder = BodyDecoder(codings)
    var received: [UInt8] = []
    var (start, size, isPaused) = (0, step, false)
    let body = [UInt8](body)
    var failure: HTTPError?
    unsafe body.withUnsafeBytes { body in
      do throws(HTTPError) {
        while start < body.count {
          let end = size < body.count - start ? start + size : body.count
          let acceptance = try unsafe decoder.decode(UnsafeRawBufferPointer(rebasing: body[start..<end])) { decoded in
            isPaused = pausing && !isPaused
            if isPaused { return .paused }
            unsafe received.append(contentsOf: decoded)
            return .taken
          }
          if acceptance == .taken {
            (start, size) = (end, step)
          } else {
            size = step == .max ? step : size + 1
          }
        }
        try decoder.end()
      } catch { failure = error }
    }
    if let failure { throw failure }
    return Data(received)
  }

  private static func failure(_ codings: [ContentCoding], _ body: Data) -> HTTPError? {
    do throws(HTTPError) {
      _ = try decode(codings, body)
      return nil
    } catch { return error }
  }

  /// Returns the text to decode in pieces of `step` bytes. It is shorter if the pieces are small.
  private static func text(_ step: Int) -> Data { step < 100 ? text.prefix(2_000) : text }

  @Test(arguments: Compressor.allCases, [1, 2, 1_000, Int.max])
  func `a compressed body is decoded, in pieces of any size`(_ compressor: Compressor, _ step: Int) throws {
    let text = Self.text(step)
    let body = compressor.compress(text)
    #expect(try Self.decode([compressor.coding], body, step: step) == text)
    #expect(try Self.decode([compressor.coding], body, step: step, pausing: true) == text)
  }

  @Test(arguments: Compressor.allCases) func `an empty body is decoded as empty`(_ compressor: Compressor) throws {
    #expect(try Self.decode([compressor.coding], Data()) == Data())
    #expect(try Self.decode([compressor.coding], compressor.compress(Data())) == Data())
  }

  @Test(arguments: Compressor.allCases) func `a body cut anywhere is an error`(_ compressor: Compressor) throws {
    let body = compressor.compress(Self.text.prefix(1_000))
    for length in 1..<body.count {
      let failure = Self.failure([compressor.coding], body.prefix(length))
      #expect(failure?.kind == .cannotDecodeContentData, "after \(length) of \(body.count) bytes")
    }
    let last = Self.failure([compressor.coding], body.dropLast())
    #expect(
      last?.message == "the body stops before its end" && last?.operation == "decompress \(compressor.coding.rawValue)")
  }

  @Test(arguments: Compressor.allCases) func `bytes behind the end of a compressed body are an error`(
    _ compressor: Compressor
  ) throws {
    let body = compressor.compress(Self.text)
    #expect(Self.failure([compressor.coding], body + Data("garbage".utf8))?.kind == .cannotDecodeContentData)
  }

  @Test(arguments: [Compressor.gzip, .zstd], [1, 1_000, Int.max])
  func `a gzip or zstd body may have several members`(_ compressor: Compressor, _ step: Int) throws {
    let text = Self.text(step)
    let body = compressor.compress(text) + compressor.compress(Data()) + compressor.compress(Data("end".utf8))
    #expect(try Self.decode([compressor.coding], body, step: step) == text + Data("end".utf8))
    #expect(Self.failure([compressor.coding], body.dropLast())?.kind == .cannotDecodeContentData)
  }

  @Test(arguments: [1, 20, 512], [1, Int.max])
  func `zero bytes may fill up a gzip body, and nothing else may`(_ count: Int, _ step: Int) throws {
    let zeros = Data(count: count)
    let member = Compressor.gzip.compress(Self.text(step))
    for body in [member, Compressor.gzip.compress(Data("a".utf8)) + member] {
      let text = try Self.decode([.gzip], body)
      #expect(try Self.decode([.gzip], body + zeros, step: step) == text)
      #expect(Self.failure([.gzip], body + zeros + [1])?.kind == .cannotDecodeContentData)
    }
    #expect(Self.failure([.deflate], Compressor.zlib.compress(Self.text) + zeros)?.kind == .cannotDecodeContentData)
  }

  @Test func `deflate without a frame may end with a checksum`() throws {
    var body = Data()
    for step in [1, Int.max] {
      body = Compressor.rawDeflate.compress(Self.text(step))
      #expect(try Self.decode([.deflate], body + Data(repeating: 1, count: 4), step: step) == Self.text(step))
    }
    #expect(Self.failure([.deflate], body + Data(repeating: 1, count: 5))?.kind == .cannotDecodeContentData)
  }

  @Test(arguments: Compressor.allCases, Compressor.allCases)
  func `a body may have two codings`(_ first: Compressor, _ second: Compressor) throws {
    let codings = [first.coding, second.coding]
    var (inner, body) = (Data(), Data())
    for step in [1, 1_000, Int.max] {
      let text = Self.text(step)
      inner = first.compress(text)
      body = second.compress(inner)
      #expect(try Self.decode(codings, body, step: step) == text)
      #expect(try Self.decode(codings, body, step: step, pausing: true) == text)
    }
    #expect(Self.failure(codings, body.dropLast())?.kind == .cannotDecodeContentData)
    #expect(Self.failure(codings, second.compress(inner.dropLast()))?.kind == .cannotDecodeContentData)
  }

  @Test func `a body with more than five codings is an error`() throws {
    let body = (0..<6).reduce(Data()) { body, _ in Compressor.gzip.compress(body) }
    #expect(try Self.decode(Array(repeating: .gzip, count: 5), body) == Compressor.gzip.compress(Data()))
    #expect(Self.failure(Array(repeating: .gzip, count: 6), body)?.kind == .cannotDecodeContentData)
  }

  /// Checks that bytes that a server has made up do no harm: the decoder returns a body or throws an error.
  @Test(arguments: Compressor.allCases) func `any bytes are decoded, or an error`(_ compressor: Compressor) throws {
    var random = SplitMix(seed: 12)
    let whole = compressor.compress(Self.text.prefix(4_000))
    for _ in 0..<FuzzRounds.count(default: 400) {
      var body = whole.prefix(Int.random(in: 0...whole.count, using: &random))
      for _ in 0..<Int.random(in: 0...3, using: &random) where !body.isEmpty {
        body[Int.random(in: body.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if Bool.random(using: &random) {
        body += Data((0..<Int.random(in: 0...40, using: &random)).map { _ in .random(in: 0...255, using: &random) })
      }
      let step = Int.random(in: 1...200, using: &random)
      do throws(HTTPError) {
        _ = try Self.decode([compressor.coding], Data(body), step: step, pausing: Bool.random(using: &random))
      } catch {
        #expect(error.kind == .cannotDecodeContentData)
      }
    }
  }
}
