import FoundationEssentials
import HTTPTypes

/// A serializer that decodes a body to text.
///
/// The charset is the first of these that exists:
/// 1. ``encoding``, if you set it.
/// 2. The `charset` of `Content-Type`. An unknown charset is an error.
/// 3. A byte order mark at the beginning of the body.
/// 4. ``fallback``.
///
/// A byte order mark is never part of the text.
public struct TextResponseSerializer: ResponseSerializer {
  /// The responses that are accepted. Default: any type with a status from 200 to 299.
  public var validation: ResponseValidation
  /// The encoding of all bodies, whatever the server declares. Default: nil, the server's declaration counts.
  public var encoding: TextEncoding?
  /// The encoding of a body without a declared encoding. Default: UTF-8. ``TextEncoding/windows1252`` can decode any bytes.
  public var fallback: TextEncoding

  /// Creates a serializer.
  ///
  /// - Parameters:
  ///   - validation: The responses that are accepted. Default: any type with a status from 200 to 299.
  ///   - encoding: The encoding of all bodies. Default: nil, the server's declaration counts.
  ///   - fallback: The encoding of a body without a declared encoding. Default: UTF-8.
  public init(
    validation: ResponseValidation = ResponseValidation(), encoding: TextEncoding? = nil, fallback: TextEncoding = .utf8
  ) {
    self.validation = validation
    self.encoding = encoding
    self.fallback = fallback
  }

  /// Returns the text of a body.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` if the status is not accepted, with the text as ``HTTPError/decoded``.
  ///   `cannotDecodeContentData` if the type is not accepted, the charset is unknown, or the bytes are not valid in their
  ///   charset.
  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> String {
    try validation.decode(response, body: body, request: request, as: "decode text") { body in
      try encoding(of: body, in: response).decode(body)
    }
  }

  private func encoding(of body: Data, in response: HTTPResponse) throws(HTTPError) -> TextEncoding {
    if let encoding { return encoding }
    let charset = response.headerFields.singleValue(.contentType).flatMap { FieldParameters($0).parameters["charset"] }
    if let charset, !charset.isEmpty {
      guard let encoding = TextEncoding(charset) else {
        throw HTTPError(.cannotDecodeContentData, "decode text", message: "the charset '\(charset)' is not known")
      }
      return encoding
    }
    return TextEncoding.mark(of: body)?.encoding ?? fallback
  }
}
