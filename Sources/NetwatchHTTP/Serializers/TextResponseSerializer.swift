import FoundationEssentials
import HTTPTypes

/// Makes text of a body.
///
/// The charset is the first of these that there is:
/// 1. ``encoding``, if you set it.
/// 2. The `charset` of `Content-Type`. A charset that is not known is an error.
/// 3. A byte order mark at the beginning of the body.
/// 4. ``fallback``.
///
/// A byte order mark never is a part of the text.
public struct TextResponseSerializer: ResponseSerializer {
  /// Default: any type with a status from 200 to 299.
  public var validation: ResponseValidation
  /// The encoding of all bodies, whatever the server says. Default nil: the server's word counts.
  public var encoding: TextEncoding?
  /// The encoding of a body that nothing is said of. Default: UTF-8. ``TextEncoding/windows1252`` can decode any bytes.
  public var fallback: TextEncoding

  public init(
    validation: ResponseValidation = ResponseValidation(), encoding: TextEncoding? = nil, fallback: TextEncoding = .utf8
  ) {
    self.validation = validation
    self.encoding = encoding
    self.fallback = fallback
  }

  /// - Throws: `badServerResponse` for the status, with the text as ``HTTPError/decoded``; `cannotDecodeContentData` for a type
  ///   that is not accepted, a charset that is not known, and bytes that are not of their charset.
  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> String {
    try validation.decode(response, body: body, request: request, as: "decode text") { body in
      try encoding(of: body, in: response).decode(body)
    }
  }

  private func encoding(of body: Data, in response: HTTPResponse) throws(HTTPError) -> TextEncoding {
    if let encoding { return encoding }
    let charset = response.headerFields[.contentType].flatMap { FieldParameters($0).parameters["charset"] }
    if let charset, !charset.isEmpty {
      guard let encoding = TextEncoding(charset) else {
        throw HTTPError(.cannotDecodeContentData, "decode text", message: "the charset '\(charset)' is not known")
      }
      return encoding
    }
    return TextEncoding.mark(of: body)?.encoding ?? fallback
  }
}
