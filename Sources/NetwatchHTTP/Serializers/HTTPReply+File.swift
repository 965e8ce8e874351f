import FoundationEssentials
import HTTPTypes

/// Values from the file of a download.
extension HTTPReply<URL> {
  /// Reads the file and returns the value that a serializer makes from it. The file stays in its place.
  ///
  /// ```swift
  /// let reply = try await api.download("users.json", to: .file(file))
  /// let users = try await reply.serialized(as: DecodableResponseSerializer([User].self)).value
  /// ```
  ///
  /// The serializer gets the response of the download, with one exception. If a resumable download has found its file complete,
  /// the server has answered 416, which most serializers refuse, so the serializer gets a 200 without header fields.
  ///
  /// - Parameters:
  ///   - serializer: The serializer that checks the response and makes a value from the file's content.
  ///   - maximumBytes: The largest file in bytes. A larger one fails with `responseTooLarge`. Default: 64 MiB, as for
  ///     ``HTTPTaskOptions/maximumBytesInMemory``.
  /// - Throws: `fileFailed` if the file cannot be read, and the errors of the serializer.
  @concurrent
  public func serialized<Serializer: ResponseSerializer>(
    as serializer: Serializer, maximumBytes: Int64 = 64 * 1_024 * 1_024
  ) async throws(HTTPError) -> HTTPReply<Serializer.Value> {
    let response = response.status == .rangeNotSatisfiable ? HTTPResponse(status: .ok) : response
    let body = try Self.content(of: value, maximumBytes)
    return with(try serializer.serialize(response, body: body, request: request))
  }

  /// Reads the file and decodes it to a type of your own. The file stays in its place.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - decoder: The decoder of the file. Default: a new `JSONDecoder`. Do not change its settings afterwards.
  /// - Throws: `fileFailed` if the file cannot be read, `responseTooLarge` if it is larger than 64 MiB, and
  ///   `cannotDecodeContentData` if it cannot be decoded or the decoder does not read its content type.
  public func serialized<Decoded: Decodable & Sendable>(
    as type: Decoded.Type, decoder: any DataDecoder = JSONDecoder()
  ) async throws(HTTPError) -> HTTPReply<Decoded> {
    try await serialized(as: DecodableResponseSerializer(type, decoder: decoder))
  }

  private static func content(of url: URL, _ most: Int64) throws(HTTPError) -> Data {
    let path = url.path(percentEncoded: false)
    let file = try OpenFile(reading: path)
    guard let size = file.size() else { throw HTTPError(.fileFailed, "read \(path)", message: "not a regular file") }
    guard size <= most else {
      throw HTTPError(.responseTooLarge, "read \(path)", message: "it has \(size) bytes, more than \(most)")
    }
    var content = Data(count: Int(size))
    var failure: HTTPError?
    let count = unsafe content.withUnsafeMutableBytes { room in
      do throws(HTTPError) {
        return try unsafe file.read(into: room, at: 0, named: path)
      } catch {
        failure = error
        return 0
      }
    }
    if let failure { throw failure }
    return content.prefix(count)
  }
}
