import FoundationEssentials
import HTTPTypes

/// Hands an image over as it came, with its format and size. Whoever shows it decodes it.
public struct ImageResponseSerializer: ResponseSerializer {
  /// Default: a status from 200 to 299, and the types of the formats that are known.
  public var validation: ResponseValidation

  public init(validation: ResponseValidation = .image) { self.validation = validation }

  /// - Throws: also `cannotDecodeContentData` for bytes that do not begin as an image does, whatever their type says.
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
  /// A status from 200 to 299, and the types of the formats of ``ImageHeader``, under the names that servers give them.
  public static let image = ResponseValidation(contentTypes: [
    "image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/tiff", "image/vnd.microsoft.icon",
    "image/ico", "image/x-icon", "image/bmp", "image/x-bmp", "image/x-ms-bmp", "image/x-win-bitmap",
  ])
}
