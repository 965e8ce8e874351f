import FoundationEssentials
import HTTPTypes

/// A serializer that returns an encoded image with its format and size. The code that shows the image decodes it.
public struct ImageResponseSerializer: ResponseSerializer {
  /// The responses that are accepted. Default: a status from 200 to 299, and the types of the known formats.
  public var validation: ResponseValidation

  /// Creates a serializer.
  ///
  /// - Parameter validation: The responses that are accepted. Default: a status from 200 to 299, and the types of the known
  ///   formats.
  public init(validation: ResponseValidation = .image) { self.validation = validation }

  /// Returns the image, with its format and size.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` if the status is not accepted. `cannotDecodeContentData` if the type is not accepted, or if
  ///   the bytes do not begin like an image, whatever their type is.
  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> EncodedImage {
    try validation.decode(response, body: body, request: request, as: "read the head of an image") { data in
      guard let header = ImageHeader(data) else {
        throw HTTPError(.cannotDecodeContentData, "read the head of an image", message: "the bytes are no image")
      }
      return EncodedImage(header: header, data: data)
    }
  }
}

extension ResponseValidation {
  /// A status from 200 to 299, and the types of the formats of ``ImageHeader``, by all names that servers use.
  public static let image = ResponseValidation(contentTypes: [
    "image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/tiff", "image/vnd.microsoft.icon",
    "image/ico", "image/x-icon", "image/bmp", "image/x-bmp", "image/x-ms-bmp", "image/x-win-bitmap",
    "image/x-xbitmap",
  ])
}
