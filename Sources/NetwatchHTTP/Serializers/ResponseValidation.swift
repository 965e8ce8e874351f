import FoundationEssentials
import HTTPTypes

/// Which responses are accepted.
public struct ResponseValidation: Hashable, Sendable {
  /// Default: 200 to 299. Nil accepts every status.
  public var statusCodes: Set<Int>?
  /// In lower case and without parameters, such as `application/json`. Nil accepts every type, and none.
  ///
  /// `*` stands for any type, subtype or beginning of a subtype with a suffix: `text/*` accepts each text, `application/*+json`
  /// each type of `application` that is written as JSON (RFC 6839), and `*/*` everything, a response without a type included.
  public var contentTypes: Set<String>?

  public init(statusCodes: Set<Int>? = Set(200...299), contentTypes: Set<String>? = nil) {
    self.statusCodes = statusCodes
    self.contentTypes = contentTypes
  }

  /// A body has to have an accepted type. Without a body, a response need not have a type; but one that it has has to
  /// be accepted too. Where there can be no body (HEAD, 204, 304), the type is not looked at.
  ///
  /// - Throws: `badServerResponse` for the status, with it as the code; `cannotDecodeContentData` for the type; for
  ///   both, the first with the second beneath it.
  public func check(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) {
    let typeFailure = failureOfType(response, body: body, request: request)
    guard let statusCodes, !statusCodes.contains(response.status.code) else {
      if let typeFailure { throw typeFailure }
      return
    }
    var failure = HTTPError(
      .badServerResponse, "check the status", code: CInt(response.status.code), message: "\(response.status)",
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

  /// - Parameter type: in lower case, without parameters.
  private func accepts(_ type: String) -> Bool {
    guard let contentTypes, !contentTypes.contains(type) else { return true }
    return contentTypes.contains { $0.contains("*") && Self.matches(type, $0) }
  }

  private static func matches(_ type: String, _ pattern: String) -> Bool {
    if pattern == "*/*" { return true }
    let (parts, wanted) = (type.split(separator: "/", maxSplits: 1), pattern.split(separator: "/", maxSplits: 1))
    guard parts.count == 2, wanted.count == 2, wanted[0] == "*" || wanted[0] == parts[0] else { return false }
    // A subtype is more than its suffix.
    if wanted[1].hasPrefix("*+") { return parts[1].hasSuffix(wanted[1].dropFirst()) && parts[1].first != "+" }
    return wanted[1] == "*" || wanted[1] == parts[1]
  }

  static let typeCheck = "check the content type"
}

extension HTTPResponse {
  /// The content type in lower case, without parameters; nil where there is none.
  var mediaType: String? {
    guard let text = headerFields[.contentType] else { return nil }
    let type = text.prefix { $0 != ";" }.split(whereSeparator: \.isWhitespace).joined(separator: " ").lowercased()
    return type.isEmpty ? nil : type
  }
}

extension ResponseValidation {
  /// Checks the response, and decodes its body. Where the type is right and only the status is not, the body is decoded
  /// all the same: servers say in it what was wrong.
  ///
  /// - Parameter decode: Whatever it throws is `cannotDecodeContentData`.
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
    var failure =
      error as? HTTPError
      ?? HTTPError(.cannotDecodeContentData, operation, message: "\(error)", underlying: error)
    failure.response = response
    failure.body = body
    return failure
  }
}

extension ResponseValidation {
  /// A status from 200 to 299, and `application/json`, `text/json`, `text/javascript`, or a type that ends with `+json`, such as
  /// `application/problem+json` and `application/vnd.api+json`.
  public static let json = ResponseValidation(contentTypes: [
    "application/json", "text/json", "text/javascript", "*/*+json",
  ])
  /// A status from 200 to 299, and `application/x-plist`.
  public static let propertyList = ResponseValidation(contentTypes: ["application/x-plist"])
}
