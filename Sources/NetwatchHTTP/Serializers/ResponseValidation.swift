import FoundationEssentials
import HTTPTypes

/// The rules that decide which responses are accepted.
public struct ResponseValidation: Hashable, Sendable {
  /// The accepted status codes. Nil accepts every status. Default: 200 to 299.
  public var statusCodes: Set<Int>?
  /// The accepted content types in lower case and without parameters, such as `application/json`. Nil accepts every response,
  /// also without a type. Default: nil.
  ///
  /// `*` matches any type, any subtype, or the beginning of a subtype with a suffix. `text/*` accepts all text types,
  /// `application/*+json` accepts the `application` types in JSON (RFC 6839), and `*/*` accepts everything, also a response
  /// without a type.
  public var contentTypes: Set<String>?

  /// Creates rules.
  ///
  /// - Parameters:
  ///   - statusCodes: The accepted status codes. Nil accepts every status. Default: 200 to 299.
  ///   - contentTypes: The accepted content types in lower case and without parameters. Default: nil, every type.
  public init(statusCodes: Set<Int>? = Set(200...299), contentTypes: Set<String>? = nil) {
    self.statusCodes = statusCodes
    self.contentTypes = contentTypes
  }

  /// Checks the status and the content type of a response.
  ///
  /// A response with a body must have an accepted type. A response with an empty body may lack a type, but a type that it has
  /// must be accepted. The type is not checked if there can be no body (HEAD, 204, 304).
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The body.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` for the status, with the status as its code. `cannotDecodeContentData` for the type. If both
  ///   are not accepted, the second is the underlying error of the first.
  public func check(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) {
    let typeFailure = failureOfType(response, body: body, request: request)
    guard let statusCodes, !statusCodes.contains(response.status.code) else {
      if let typeFailure { throw typeFailure }
      return
    }
    var failure = HTTPError(
      .badServerResponse, "check the status", code: CInt(response.status.code), domain: .http,
      message: "\(response.status)",
      underlying: typeFailure)
    failure.response = response
    failure.body = body
    throw failure
  }

  private func failureOfType(_ response: HTTPResponse, body: Data, request: HTTPRequest?) -> HTTPError? {
    guard let contentTypes else { return nil }
    if body.isEmpty {
      guard request?.method != .head, response.status != .noContent, response.status != .notModified else { return nil }
    }
    let type = response.mediaType
    guard type.map(accepts) ?? (body.isEmpty || contentTypes.contains("*/*")) else {
      var failure = HTTPError(
        .cannotDecodeContentData, Self.typeCheck, message: type.map { "'\($0)' is not accepted" } ?? "it has none")
      failure.response = response
      failure.body = body
      return failure
    }
    return nil
  }

  /// - Parameter type: The type in lower case, without parameters.
  private func accepts(_ type: String) -> Bool {
    guard let contentTypes, !contentTypes.contains(type) else { return true }
    return contentTypes.contains { $0.contains("*") && Self.matches(type, $0) }
  }

  private static func matches(_ type: String, _ pattern: String) -> Bool {
    if pattern == "*/*" { return true }
    let (parts, wanted) = (type.split(separator: "/", maxSplits: 1), pattern.split(separator: "/", maxSplits: 1))
    guard parts.count == 2, wanted.count == 2, wanted[0] == "*" || wanted[0] == parts[0] else { return false }
    // A subtype must have more than its suffix.
    if wanted[1].hasPrefix("*+") { return parts[1].hasSuffix(wanted[1].dropFirst()) && parts[1].first != "+" }
    return wanted[1] == "*" || wanted[1] == parts[1]
  }

  static let typeCheck = "check the content type"
}

extension HTTPResponse {
  /// The content type in lower case, without parameters. Nil if there is none.
  var mediaType: String? {
    guard let text = headerFields.singleValue(.contentType) else { return nil }
    let type = text.prefix { $0 != ";" }.split(whereSeparator: \.isWhitespace).joined(separator: " ").lowercased()
    return type.isEmpty ? nil : type
  }
}

extension ResponseValidation {
  /// Checks the response, and decodes its body. If only the status is not accepted, the body is decoded nevertheless, because
  /// servers describe the failure in it.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  ///   - operation: The name of the operation, for errors.
  ///   - decode: Decodes the body. An error that is not an ``HTTPError`` becomes `cannotDecodeContentData`.
  package func decode<Value: Sendable>(
    _ response: HTTPResponse, body: Data, request: HTTPRequest?, as operation: String,
    _ decode: (Data) throws -> Value
  ) throws(HTTPError) -> Value {
    var badStatus: HTTPError?
    do {
      try check(response, body: body, request: request)
    } catch {
      guard error.kind == .badServerResponse, error.underlying == nil else { throw error }
      badStatus = error
    }
    let result = Result { try decode(body) }
    guard var badStatus else {
      do {
        return try result.get()
      } catch {
        throw Self.decodingFailure(operation, response, body, error)
      }
    }
    switch result {
    case .success(let value): badStatus.decoded = (value as? any OptionalValue)?.isNil == true ? nil : value
    case .failure(let error): badStatus.underlying = Self.decodingFailure(operation, response, body, error)
    }
    throw badStatus
  }

  private static func decodingFailure(
    _ operation: String, _ response: HTTPResponse, _ body: Data, _ error: any Error
  ) -> HTTPError {
    var failure = HTTPError(decoding: operation, error, body: body)
    failure.response = response
    failure.body = body
    return failure
  }
}

extension ResponseValidation {
  /// A status from 200 to 299, and `application/json`, `text/json`, `text/javascript`, or a type that ends with `+json`, such
  /// as `application/problem+json` and `application/vnd.api+json`.
  public static let json = ResponseValidation(contentTypes: [
    "application/json", "text/json", "text/javascript", "*/*+json",
  ])
  /// A status from 200 to 299, and `application/x-plist`.
  public static let propertyList = ResponseValidation(contentTypes: ["application/x-plist"])
}
