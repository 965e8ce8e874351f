import FoundationEssentials

/// Bodies that are encoded from values.
extension HTTPBody {
  /// Returns a value as JSON, with the type `application/json`.
  ///
  /// - Parameters:
  ///   - value: The value to encode, such as a struct of your own or a ``StructuredValue``.
  ///   - encoder: The encoder, with its own settings for dates and keys. Default: a new one.
  /// - Throws: `cannotEncodeRequest` if the value cannot be encoded, for example because a number is not finite.
  public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) throws(HTTPError) -> HTTPBody {
    .data(try encoder.body(of: value), contentType: "application/json")
  }

  /// Returns a value as a form, with the type `application/x-www-form-urlencoded`.
  ///
  /// - Parameters:
  ///   - value: The value to encode: a struct of your own, a dictionary, or a ``StructuredValue`` that is a dictionary.
  ///   - encoder: The encoder, which decides how arrays, booleans, dates, keys and null are written. Default: the same as
  ///     AFNetworking.
  /// - Throws: `cannotEncodeRequest` for values that ``URLEncodedFormEncoder/encode(_:)`` refuses.
  public static func form(
    _ value: some Encodable, encoder: URLEncodedFormEncoder = URLEncodedFormEncoder()
  ) throws(HTTPError) -> HTTPBody {
    .data(Data(try encoder.encode(value).utf8), contentType: "application/x-www-form-urlencoded")
  }

  /// Returns a form with files, which is read and assembled while it is sent. See ``MultipartFormData``.
  ///
  /// - Parameters:
  ///   - form: The parts.
  ///   - parameters: Fields that come before the parts, each as a part. Default: nil, none.
  /// - Throws: `cannotEncodeRequest` for values that ``MultipartFormData/body(parameters:)`` refuses.
  public static func multipart(
    _ form: MultipartFormData, parameters: StructuredValue? = nil
  ) throws(HTTPError) -> HTTPBody { try form.body(parameters: parameters) }

  /// Returns text in UTF-8, with the type `text/plain; charset=utf-8`.
  ///
  /// - Parameter text: The text.
  public static func text(_ text: String) -> HTTPBody {
    .data(Data(text.utf8), contentType: "text/plain; charset=utf-8")
  }
}
