import FoundationEssentials

/// Bodies made of values.
extension HTTPBody {
  /// A value as JSON, with the type `application/json`.
  ///
  /// - Parameters:
  ///   - value: The value to encode, such as a structure of your own, or a ``StructuredValue``.
  ///   - encoder: The encoder, with its own settings for dates and keys. Default: a new one.
  /// - Throws: `cannotEncodeRequest` if the value cannot be encoded, for example because a number is not finite.
  public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) throws(HTTPError) -> HTTPBody {
    .data(try encoder.body(of: value), contentType: "application/json")
  }

  /// A value as a form, with the type `application/x-www-form-urlencoded`.
  ///
  /// - Parameters:
  ///   - value: The value to encode: a structure of your own, a dictionary, or a ``StructuredValue`` that is one.
  ///   - encoder: How arrays, booleans, dates, keys and null are written. Default: as AFNetworking writes them.
  /// - Throws: `cannotEncodeRequest` for what ``URLEncodedFormEncoder/encode(_:)`` refuses.
  public static func form(
    _ value: some Encodable, encoder: URLEncodedFormEncoder = URLEncodedFormEncoder()
  ) throws(HTTPError) -> HTTPBody {
    .data(Data(try encoder.encode(value).utf8), contentType: "application/x-www-form-urlencoded")
  }

  /// A form with files, which is read and put together while it is sent. See ``MultipartFormData``.
  ///
  /// - Parameters:
  ///   - form: The parts.
  ///   - parameters: Parts that come before those, one for each field. Default: nil.
  /// - Throws: `cannotEncodeRequest` for what ``MultipartFormData/body(parameters:)`` refuses.
  public static func multipart(
    _ form: MultipartFormData, parameters: StructuredValue? = nil
  ) throws(HTTPError) -> HTTPBody { try form.body(parameters: parameters) }

  /// Text in UTF-8, with the type `text/plain; charset=utf-8`.
  public static func text(_ text: String) -> HTTPBody {
    .data(Data(text.utf8), contentType: "text/plain; charset=utf-8")
  }
}
