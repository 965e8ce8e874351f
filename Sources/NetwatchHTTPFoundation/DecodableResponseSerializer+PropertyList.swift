import Foundation
import NetwatchHTTP

extension DecodableResponseSerializer {
  /// - Parameter decoder: Not to be changed afterwards.
  public init(_ type: Value.Type, decoder: PropertyListDecoder, validation: ResponseValidation = .propertyList) {
    self.init(validation: validation) { body in
      // The decoder itself has no limit of depth, and ends the process with its stack.
      _ = try BinaryPropertyListCheck.object(in: body)
      return try decoder.decode(type, from: body)
    }
  }
}
