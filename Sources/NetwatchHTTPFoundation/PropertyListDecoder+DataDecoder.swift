import Foundation
import NetwatchHTTP

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
