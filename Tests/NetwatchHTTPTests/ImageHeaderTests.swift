import Foundation
import HTTPTypes
import NetwatchHTTP
import NetwatchTestSupport
import Testing

@Suite struct ImageHeaderTests {
  /// A PNG of 37 by 21 pixels. Pillow has made this image and the samples, among them an icon of 16 and 48 pixels.
  static let png =
    """
    iVBORw0KGgoAAAANSUhEUgAAACUAAAAVCAIAAABOhrD5AAAAJklEQVR4nGM8wcXFQEfARE/LRu0btW/UvlH7Ru0btW/UvlH7qAAA\
    rt4BBscTq5gAAAAASUVORK5CYII=
    """
  private static let samples: [(ImageHeader.Format, String, Int, Int)] = [
    (.png, png, 37, 21),
    (
      .jpeg,
      """
      /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////////////////////\
      ////////////////////wgARCAAVACUDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAL/2gAMAwEAAhEDEQA/AJARsAAA\
      AAAAAAB//9k=
      """,
      37, 21
    ),
    (.gif, "R0lGODdhJQAVAIEAAJkAAMwAAJkzM8wzMywAAAAAJQAVAEAIsAADCBxIsKDBgwgJAiA=", 37, 21),
    (.gif, "R0lGODlhJQAVAIEAAJkAAMwAAJkzM8wzMywAAAAAJQAVAEAIsAADCBxIsKDBgwgJAiA=", 37, 21),
    (.bmp, "Qk3mAAAAAAAAAD4AAAAoAAAAJQAAABUAAAABAAEAAAAAAKgAAADEDgAAxA4AAAIAAAACAAAA", 37, 21),
    (
      .tiff,
      """
      SUkqAA4AAAD///gAgAgJAAABAwABAAAAJQAAAAEBAwABAAAAFQAAAAIBAwABAAAAAQAAAAMBAwABAAAABAAAAAYBAwABAAAAAQAA\
      ABEBBAABAAAACAAAABYBAwABAAAAFQAAABcBBAABAAAABgAAABwBAwABAAAAAQAAAAAAAAA=
      """,
      37, 21
    ),
    (
      .webp,
      "UklGRkIAAABXRUJQVlA4IDYAAAAwAwCdASolABUAP83m7XA/uDIrJWgD8DmJZwDLLA8KmggAAP7cUdB8TV7s7RaZZKg3jYUmAAA=", 37, 21
    ),
    (.webp, "UklGRh4AAABXRUJQVlA4TBEAAAAvJAAFAAdQhSJXof+BiOh/AAA=", 37, 21),
    (
      .webp,
      """
      UklGRlgAAABXRUJQVlA4WAoAAAAQAAAAJAAAFAAAQUxQSAoAAAABB1DAiAhERP8DVlA4ICgAAADwAgCdASolABUAP83m7XA/uDIr\
      JWgD8DmJaQAAKUNt8AD+6WOCgAAA
      """,
      37, 21
    ),
    (
      .ico,
      """
      AAABAAIAEBAAAAAAIABLAAAAJgAAADAwAAAAACAAWAAAAHEAAACJUE5HDQoaCgAAAA1JSERSAAAAEAAAABAIBgAAAB/z/2EAAAAS\
      SURBVHicY2AYBaNgFIwCCAAABBAAAVU3WtAAAAAASUVORK5CYIKJUE5HDQoaCgAAAA1JSERSAAAAMAAAADAIBgAAAFcC+YcAAAAf\
      SURBVHic7cEBAQAAAIIg/69uSEABAAAAAAAAAAAvBiQwAAHl7ABcAAAAAElFTkSuQmCC
      """,
      48, 48
    ),
  ]

  private static let corpus = samples.compactMap { Data(base64Encoded: $0.1) } + [bigTIFF, oldBMP, restartJPEG]

  private static let bigTIFF = Data(
    [0x4d, 0x4d, 0, 42, 0, 0, 0, 8, 0, 2, 1, 0, 0, 3, 0, 0, 0, 1, 0, 37, 0, 0, 1, 1, 0, 4, 0, 0, 0, 1, 0, 0, 0, 21])
  private static let oldBMP = Data([0x42, 0x4d] + [UInt8](repeating: 0, count: 12) + [12, 0, 0, 0, 37, 0, 21, 0])
  /// A JPEG with fill bytes, a marker without a length, a table, and then a progressive frame.
  private static let restartJPEG = Data(
    [0xff, 0xd8, 0xff, 0xff, 0xff, 0x01, 0xff, 0xc4, 0, 4, 0xff, 0xc0, 0xff, 0xc2, 0, 17, 8, 0, 21, 0, 37, 3])

  @Test func `format and size are read from the heads of real images`() throws {
    for (format, text, width, height) in Self.samples {
      let data = try #require(Data(base64Encoded: text))
      let header = try #require(ImageHeader(data), "\(format)")
      #expect((header.format, header.width, header.height) == (format, width, height))
    }
    for (format, data) in [(ImageHeader.Format.tiff, Self.bigTIFF), (.bmp, Self.oldBMP), (.jpeg, Self.restartJPEG)] {
      let header = try #require(ImageHeader(data), "\(format)")
      #expect((header.format, header.width, header.height) == (format, 37, 21))
    }
  }

  @Test func `a bitmap whose rows run from the top is as high as any other`() throws {
    var bitmap = [UInt8](Self.corpus[4])
    bitmap.replaceSubrange(22..<26, with: [0xeb, 0xff, 0xff, 0xff])
    #expect(ImageHeader(Data(bitmap))?.height == 21)
    bitmap.replaceSubrange(22..<26, with: [0, 0, 0, 0x80])
    #expect(ImageHeader(Data(bitmap))?.height == 2_147_483_648)
  }

  @Test func `the largest sizes fit`() {
    let most: [UInt8] = [0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x45, 0x42, 0x50]
    let lossless = most + Array("VP8L".utf8) + [9, 0, 0, 0, 0x2f, 0xff, 0xff, 0xff, 0x0f]
    #expect(ImageHeader(Data(lossless)).map { [$0.width, $0.height] } == [16_384, 16_384])
    let extended = most + Array("VP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 0xff, count: 6)
    #expect(ImageHeader(Data(extended)).map { [$0.width, $0.height] } == [16_777_216, 16_777_216])
    let icon: [UInt8] = [0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 32, 0, 1, 0, 0, 0, 22, 0, 0, 0, 7]
    #expect(ImageHeader(Data(icon)).map { [$0.width, $0.height] } == [256, 256])
  }

  @Test func `a head that is cut off anywhere is no image, and is never read beyond`() {
    for data in Self.corpus {
      for count in 0..<data.count {
        // The image is a slice of larger data. The bytes around the slice must not count.
        let slice = (Data([0xff, 0xd8, 0xff]) + data)[3..<(3 + count)]
        if let header = ImageHeader(slice) {
          #expect(header == ImageHeader(data))
        }
      }
      #expect(ImageHeader(data.prefix(9)) == nil)
    }
  }

  @Test(arguments: [
    "", "GIF", "<html><body>404</body></html>", "\u{89}PNG", "BMW is a car maker, and not an image",
    "RIFF\u{4}\u{0}\u{0}\u{0}WAVEfmt ", "{\"error\":true}",
  ])
  func `text is no image, whatever the server says`(_ text: String) {
    let response = HTTPResponse(status: .ok, headerFields: [.contentType: "image/png"])
    #expect {
      try ImageResponseSerializer().serialize(response, body: Data(text.utf8), request: nil)
    } throws: { ($0 as? HTTPError)?.kind == .cannotDecodeContentData }
  }

  private static let pngHead: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
  private static let broken: [[UInt8]] = [
    pngHead + [0, 0, 0, 0, 0, 0, 0, 9], pngHead + [0xff, 0, 0, 0, 0, 0, 0, 9],
    [UInt8]("GIF89a".utf8) + [0, 0, 1, 0],
    [0xff, 0xd8, 0xff, 0xe0, 0, 0, 0xff, 0xc0, 0, 17, 8, 0, 1, 0, 1],
    [0xff, 0xd8, 0xff, 0xe0, 0, 1, 0xff, 0xc0, 0, 17, 8, 0, 1, 0, 1],
    [0xff, 0xd8, 0xff, 0xda, 0, 2, 0xff, 0xc0, 0, 17, 8, 0, 1, 0, 1],
    [0xff, 0xd8, 0xff] + [UInt8](repeating: 0xff, count: 10_000),
    [0x49, 0x49, 42, 0, 0xff, 0xff, 0xff, 0xff], [0x4d, 0x4d, 0, 42, 0, 0, 0, 8, 0xff, 0xff],
    [0, 0, 1, 0, 0xff, 0xff], [0, 0, 1, 0, 0, 0],
    [0, 0, 1, 0, 1, 0, 16, 16, 0, 0, 1, 0, 32, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  ]

  @Test(arguments: broken)
  func `sizes of zero, lengths that lie and places outside are no image`(_ head: [UInt8]) {
    #expect(ImageHeader(Data(head)) == nil)
  }

  @Test func `mutated heads do no harm, and have a size where they have one`() {
    var random = SplitMix(seed: 21)
    var images = 0
    for _ in 0..<FuzzRounds.count(default: 20_000) {
      let data = Self.corpus[Int.random(in: 0..<Self.corpus.count, using: &random)].mutated(&random)
      guard let header = ImageHeader(data) else { continue }
      images += 1
      guard header.width > 0, header.height > 0, max(header.width, header.height) <= Int(UInt32.max) else {
        Issue.record("\(header) of \(data.base64EncodedString())")
        return
      }
    }
    #expect(images > 0)
  }

  @Test func `an image comes with its bytes, whichever type of its kind the server gives`() throws {
    let data = Self.corpus[0]
    for type in ["image/png", "IMAGE/JPEG; q=1", "image/x-icon"] {
      let response = HTTPResponse(status: .ok, headerFields: [.contentType: type])
      let image = try ImageResponseSerializer().serialize(response, body: data, request: nil)
      #expect(image.data == data && image.header.format == .png)
    }
  }
}
