import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of text in any charset.
@Suite struct TextResponseTests {
  private func decode(
    _ bytes: [UInt8], type: String? = nil, status: Int = 200, _ serializer: TextResponseSerializer = .init()
  ) throws(HTTPError) -> String {
    var response = HTTPResponse(status: .init(code: status))
    response.headerFields[.contentType] = type
    return try serializer.serialize(response, body: Data(bytes), request: nil)
  }

  private static let german: [UInt8] = [0x4d, 0xfc, 0x6c, 0x6c, 0x80]

  @Test func `the content type counts, then the byte order mark, then UTF-8`() throws {
    let utf8 = Array("Müll€".utf8)
    #expect(try decode(utf8) == "Müll€")
    #expect(try decode(Self.german, type: "text/plain; charset=ISO-8859-1") == "Müll€")
    #expect(try decode(utf8, type: "text/plain; a=\"charset=latin1\"; Charset=\"UTF-8\"") == "Müll€")
    #expect(try decode([0xef, 0xbb, 0xbf] + utf8) == "Müll€")
    #expect(try decode([0xef, 0xbb, 0xbf] + utf8, type: "text/plain; charset=utf-8") == "Müll€")
    #expect(try decode([0xef, 0xbb, 0xbf, 0x61], type: "text/plain; charset=latin1") == "ï»¿a")
    #expect(try decode([0xff, 0xfe, 0x61, 0, 0xfc, 0], type: "text/plain") == "aü")
    #expect(try decode([0xfe, 0xff, 0, 0x61, 0, 0xfc]) == "aü")
    #expect(try decode([0, 0x61, 0xd8, 0x3d, 0xde, 0x00], type: "x/y;charset=utf-16be") == "a😀")
    #expect(try decode([0xfe, 0xff, 0, 0x61], type: "x/y;charset=utf-16") == "a")
    #expect(try decode([0x61, 0], type: "x/y;charset=utf-16") == "a")
    #expect(try decode([], type: "x/y;charset=utf-16") == "")
  }

  @Test func `a fallback is for bodies that nothing is said of, and an encoding for all`() throws {
    let fallback = TextResponseSerializer(fallback: .windows1252)
    #expect(try decode(Self.german, fallback) == "Müll€")
    #expect(try decode(Array("ü".utf8), type: "text/plain; charset=utf-8", fallback) == "ü")
    let koi8 = TextResponseSerializer(encoding: TextEncoding("koi8-r"))
    #expect(try decode([0xc1], type: "text/plain; charset=utf-8", koi8) == "а")
  }

  private func decode(_ bytes: [UInt8], _ serializer: TextResponseSerializer) throws(HTTPError) -> String {
    try decode(bytes, type: nil, serializer)
  }

  private func decode(
    _ bytes: [UInt8], type: String?, _ serializer: TextResponseSerializer
  ) throws(HTTPError) -> String { try decode(bytes, type: type, status: 200, serializer) }

  @Test(arguments: [
    ("koi8-r", "f0d2c9d7c5d4", "Привет"), ("windows-1251", "cff0e8e2e5f2", "Привет"),
    ("cp866", "8fe0a8a2a5e2", "Привет"),
    ("Shift_JIS", "93fa967b8cea5c7e", "日本語\\~"), ("x-sjis", "8740", "①"), ("euc-jp", "c6fccbdcb8ec", "日本語"),
    ("ISO-2022-JP", "1b2442467c4b5c1b2842", "日本"), ("gb2312", "d6d0b9fa", "中国"), ("GBK", "d6d0", "中"),
    ("gb18030", "81308436d6d0", "¥中"), ("big5", "a4a4a4e5", "中文"), ("EUC-KR", "c7d1b1db", "한글"),
    ("windows-949", "8141", "갂"), ("iso-8859-2", "b3f3", "łó"), ("iso-8859-9", "80fd", "€ı"),
    ("windows-1250", "9c", "ś"),
    ("windows-874", "80a1", "€ก"), ("macintosh", "8a", "ä"), ("iso-8859-15", "a4", "€"), ("us-ascii", "41e9", "Aé"),
    ("IBM850", "81", "ü"), ("utf-32be", "0001f600", "😀"), ("windows-1255", "e0", "א"), ("windows-1258", "61cc", "à"),
  ])
  func `a label means what it means to a browser`(_ label: String, _ hex: String, _ text: String) throws {
    let encoding = try #require(TextEncoding(label), "\(label)")
    let bytes = stride(from: 0, to: hex.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
    #expect(
      try encoding.decode(Data(bytes)).precomposedStringWithCanonicalMapping
        == text.precomposedStringWithCanonicalMapping)
    #expect(TextEncoding(" \(label.uppercased()) ") != nil)
  }

  @Test func `windows-1252 has a letter for each byte, as the standard has it`() throws {
    let text = try TextEncoding.windows1252.decode(Data((0...255).map { UInt8($0) }))
    #expect(text.unicodeScalars.count == 256)
    #expect(text.unicodeScalars.map(\.value)[0x80] == 0x20ac && text.unicodeScalars.map(\.value)[0x9f] == 0x178)
    #expect(text.unicodeScalars.map(\.value)[0x81] == 0x81 && text.unicodeScalars.map(\.value)[0xff] == 0xff)
  }

  @Test(arguments: [
    "", "x", "no-such-charset", "utf-7", "UTF7", "iso-2022-cn", "ISO-2022-CN-EXT", "ISO-2022-KR", "iso-2022-jp-3",
    "ISO2022JP2", "hz-gb-2312", "utf-8//TRANSLIT", "../../etc/passwd", "latin1,TRANSLIT", "ü",
    String(repeating: "a", count: 41),
  ])
  func `a label that nobody knows, or that browsers refuse, is none`(_ label: String) {
    #expect(TextEncoding(label) == nil)
    guard !label.isEmpty else { return }
    do throws(HTTPError) {
      _ = try decode([0x61], type: "text/plain; charset=\"\(label)\"")
      Issue.record("decoded")
    } catch { #expect(error.kind == .cannotDecodeContentData && error.message.contains("is not known")) }
  }

  @Test(
    arguments: [
      ("utf-8", [0x61, 0xff]), ("utf-8", [0xc3]), ("utf-8", [0xed, 0xa0, 0x80]), ("utf-16le", [0x61]),
      ("utf-16le", [0, 0xd8]),
      ("shift_jis", [0x81]), ("shift_jis", [0xfd, 0xff]), ("euc-jp", [0xa4]), ("gb18030", [0x81, 0x30]),
      ("euc-kr", [0xc7]),
      ("iso-2022-jp", [0x1b, 0x24, 0x42, 0x46]),
    ] as [(String, [UInt8])])
  func `bytes that are not of the charset are an error, also a character that is cut off`(
    _ charset: String, _ bytes: [UInt8]
  ) {
    do throws(HTTPError) {
      _ = try decode(bytes, type: "text/plain; charset=\(charset)")
      Issue.record("decoded")
    } catch { #expect(error.kind == .cannotDecodeContentData && error.body == Data(bytes)) }
  }

  @Test func `a long text is whole`() throws {
    let bytes = Array(repeatElement([0x93, 0xfa, 0x96, 0x7b] as [UInt8], count: 100_000).joined()) + [0x41]
    #expect(try decode(bytes, type: "x/y;charset=shift_jis") == String(repeating: "日本", count: 100_000) + "A")
  }

  @Test func `the text of a bad status comes with the error`() {
    do throws(HTTPError) {
      _ = try decode(Self.german, type: "text/plain; charset=latin1", status: 500)
      Issue.record("decoded")
    } catch { #expect(error.kind == .badServerResponse && error.decoded as? String == "Müll€") }
  }

  @Test func `any bytes in any charset are a text or an error`() {
    var random = SplitMix(seed: 4)
    let labels = [
      "utf-8", "utf-16", "utf-16be", "latin1", "shift_jis", "euc-jp", "iso-2022-jp", "gb18030", "big5", "euc-kr",
      "windows-1255",
      "windows-1258", "windows-874", "utf-32", "koi8-u", "macintosh", "cp850",
    ].compactMap(TextEncoding.init)
    #expect(labels.count == 17)
    for _ in 0..<FuzzRounds.count(default: 2_000) {
      let count = random.oneIn(20) ? 20_000 : Int.random(in: 0...40, using: &random)
      let special: [UInt8] = [0x1b, 0x24, 0x28, 0x42, 0x81, 0x30, 0xfe, 0xff]
      let bytes = Data(
        (0..<count).map { _ in
          random.oneIn(3) ? special[Int.random(in: 0..<8, using: &random)] : .random(in: 0...255, using: &random)
        })
      let encoding = labels[Int.random(in: 0..<labels.count, using: &random)]
      do throws(HTTPError) { _ = try encoding.decode(bytes) } catch { #expect(error.kind == .cannotDecodeContentData) }
      var label = String(decoding: bytes.prefix(20), as: UTF8.self)
      if random.oneIn(2) { label = "iso" + label }
      _ = TextEncoding(label)
    }
  }
}
