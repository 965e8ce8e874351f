import Foundation
import HTTPTypes
import NetwatchHTTP

/// A serializer that sends parameters as a property list, or in the URL for methods without a body.
public struct PropertyListRequestSerializer: RequestSerializer {
  /// The formats of a property list: XML or binary.
  public enum Format: Sendable { case xml, binary }

  /// The serializer that sets the header fields, and the query for methods without a body.
  public var base: HTTPRequestSerializer
  /// The format of the property list. Default: XML.
  public var format: Format

  /// Creates a serializer.
  ///
  /// - Parameters:
  ///   - base: The serializer that sets the header fields, and the query for methods without a body. Default: a new one.
  ///   - format: The format of the property list. Default: XML.
  public init(base: HTTPRequestSerializer = HTTPRequestSerializer(), format: Format = .xml) {
    self.base = base
    self.format = format
  }

  /// Returns the request, with its parameters as a property list. Without parameters, there is no body and no content type.
  ///
  /// - Parameters:
  ///   - request: The request, with its method and its own header fields.
  ///   - url: The URL of the request. Nil if the request has one already.
  ///   - parameters: The parameters. Nil for none.
  /// - Throws: `cannotEncodeRequest` for values that a property list cannot contain: null and sets, and in XML also control
  ///   characters.
  public func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody) {
    try base.serialize(request, url: url, parameters: parameters, as: "application/x-plist", encode)
  }

  private func encode(_ parameters: StructuredValue) throws(HTTPError) -> Data {
    let isXML = format == .xml
    let object = try parameters.foundationObject(for: isXML ? .xmlPropertyList : .binaryPropertyList)
    do {
      return try PropertyListSerialization.data(
        fromPropertyList: object, format: isXML ? .xml : .binary, options: 0)
    } catch {
      throw HTTPError(.cannotEncodeRequest, "encode a property list", message: "\(error)", underlying: error)
    }
  }
}

/// A serializer that decodes a property list, XML or binary, to a tree of values. An empty body becomes nil.
public struct PropertyListResponseSerializer: ResponseSerializer {
  /// The responses that are accepted. Default: a status from 200 to 299, and `application/x-plist`.
  public var validation: ResponseValidation

  /// Creates a serializer.
  ///
  /// - Parameter validation: The responses that are accepted. Default: a status from 200 to 299, and `application/x-plist`.
  public init(validation: ResponseValidation = .propertyList) { self.validation = validation }

  /// Returns the value of a property list. Nil if the body is empty.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` if the status is not accepted, with the value as `HTTPError.decoded`.
  ///   `cannotDecodeContentData` if the type is not accepted, or the body is not a property list of plain values.
  public func serialize(
    _ response: HTTPResponse, body: Data, request: HTTPRequest?
  ) throws(HTTPError) -> StructuredValue? {
    try validation.decode(response, body: body, request: request, as: "decode a property list", decode)
  }

  private func decode(_ body: Data) throws -> StructuredValue? {
    guard !body.isEmpty else { return nil }
    let object = try BinaryPropertyListCheck.object(in: body)
    guard let value = StructuredValue(foundation: object) else {
      throw HTTPError(.cannotDecodeContentData, "decode a property list", message: "it has more than plain values")
    }
    return value
  }
}

/// Decodes the property lists of a session. Do not change the decoder's settings after a session has it.
extension PropertyListDecoder: DataDecoder {
  /// A status from 200 to 299, and the type `application/x-plist`.
  public var validation: ResponseValidation { .propertyList }

  /// Makes a value from a property list, XML or binary.
  public func decode<Value: Decodable>(_ type: Value.Type, body: Data) throws -> Value {
    // The decoder itself has no limit of depth, and crashes when its stack overflows.
    _ = try BinaryPropertyListCheck.object(in: body)
    return try decode(type, from: body)
  }
}

/// Checks that a binary property list does not become far larger in memory than its data, and contains only plain values.
///
/// Arrays and dictionaries of such a list refer to their elements by number, and Foundation makes a copy for each reference. So a
/// few hundred bytes can need more memory than there is, and an array that contains itself never ends.
struct BinaryPropertyListCheck {
  /// The approximate size of a value in memory, in bytes.
  private static let valueSize = 64
  private static let alwaysAllowed = 16 * 1_024 * 1_024

  private let bytes: HeaderBytes
  private let offsetSize: Int
  private let referenceSize: Int
  private let objectCount: Int
  private let offsetTable: Int
  private let mostMemory: Int
  private var referencesLeft: Int
  /// The size in memory, in bytes, of each object that was checked. Nil for those that are being checked.
  private var sizes: [Int: Int?] = [:]

  /// Returns the objects of an untrusted property list, XML or binary. Foundation would also accept any word as an old-style
  /// (NeXT) property list, such as an error page of one word.
  static func object(in body: Data) throws -> Any {
    if body.starts(with: Data("bplist".utf8)) { try check(body) }
    var format = PropertyListSerialization.PropertyListFormat.xml
    let object = try unsafe PropertyListSerialization.propertyList(from: body, options: [], format: &format)
    guard format != .openStep else {
      throw HTTPError(.cannotDecodeContentData, "decode a property list", message: "neither XML nor binary")
    }
    return object
  }

  private static func check(_ body: Data) throws(HTTPError) {
    let bytes = HeaderBytes(body)
    let trailer = body.count - 32
    guard let offsetSize = bytes.byte(at: trailer + 6), let referenceSize = bytes.byte(at: trailer + 7),
      1...8 ~= offsetSize, 1...8 ~= referenceSize, let objectCount = bytes.big64(at: trailer + 8),
      let top = bytes.big64(at: trailer + 16), let offsetTable = bytes.big64(at: trailer + 24)
    else { throw refusal("no trailer") }
    var check = BinaryPropertyListCheck(
      bytes: bytes, offsetSize: offsetSize, referenceSize: referenceSize, objectCount: objectCount,
      offsetTable: offsetTable, mostMemory: alwaysAllowed + valueSize * body.count, referencesLeft: body.count)
    _ = try check.size(of: top, depth: 0)
  }

  /// Returns the size of an object and of everything that it refers to, counted once for each reference.
  private mutating func size(of object: Int, depth: Int) throws(HTTPError) -> Int {
    if let known = sizes[object] {
      guard let known else { throw Self.refusal("a value within itself") }
      return known
    }
    guard depth < StructuredValue.deepest else { throw Self.refusal("too many levels") }
    // At most one object per byte, so that the products below cannot overflow.
    guard object >= 0, object < min(objectCount, bytes.count),
      let place = bytes.number(at: offsetTable, index: object, bytes: offsetSize), let marker = bytes.byte(at: place)
    else { throw Self.refusal("an object outside") }
    sizes[object] = .some(nil)
    let (count, content) = try length(marker, at: place)
    var size = Self.valueSize
    switch marker >> 4 {
    case 0x0 where marker == 0x08 || marker == 0x09: break
    case 0x1, 0x2, 0x3: break
    case 0x4, 0x5: size += count
    case 0x6: size += 2 * count
    case 0xa, 0xd:
      let references = marker >> 4 == 0xd ? 2 * count : count
      referencesLeft -= references
      guard referencesLeft >= 0 else { throw Self.refusal("more references than bytes") }
      for index in 0..<references {
        guard let element = bytes.number(at: content, index: index, bytes: referenceSize) else {
          throw Self.refusal("a reference outside")
        }
        if marker >> 4 == 0xd, index < count, !isString(element) { throw Self.refusal("a key that is no string") }
        size += try self.size(of: element, depth: depth + 1)
        guard size <= mostMemory else { throw Self.refusal("far larger than its bytes") }
      }
    // Sets, references of archives, and null: no program sends them, and Foundation crashes on some sets.
    default: throw Self.refusal("more than plain values")
    }
    sizes[object] = size
    return size
  }

  private func isString(_ object: Int) -> Bool {
    guard object < bytes.count, let place = bytes.number(at: offsetTable, index: object, bytes: offsetSize),
      let marker = bytes.byte(at: place)
    else { return false }
    return marker >> 4 == 0x5 || marker >> 4 == 0x6
  }

  /// Returns the number of elements or characters, and the offset of the first one.
  private func length(_ marker: Int, at place: Int) throws(HTTPError) -> (count: Int, content: Int) {
    guard marker & 0xf == 0xf, marker >> 4 >= 0x4 else { return (marker & 0xf, place + 1) }
    guard let kind = bytes.byte(at: place + 1), 0x10...0x13 ~= kind,
      let count = bytes.number(at: place + 2, bytes: 1 << (kind & 0xf), isLittle: false), 0...bytes.count ~= count
    else { throw Self.refusal("a length that cannot be") }
    return (count, place + 2 + (1 << (kind & 0xf)))
  }

  private static func refusal(_ message: String) -> HTTPError {
    HTTPError(.cannotDecodeContentData, "decode a property list", message: message)
  }
}
