import FoundationEssentials
import HTTPTypes

extension HTTPSessionManager {
  /// Makes the request of a call, without what every request of the session gets.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - body: The body, instead of the call's own. Nil keeps the call's own.
  ///   - options: Options that take precedence over those of the call, which take precedence over those of the session.
  /// - Returns: The request, its body and options, and the fields that the caller has given for this request only.
  func compose(
    _ request: some RequestConvertible, _ body: HTTPBody?, _ options: HTTPTaskOptions
  ) throws(HTTPError) -> (request: HTTPRequest, body: HTTPBody?, options: HTTPTaskOptions, own: HTTPFields) {
    var call = try request.makeCall()
    if let body { call.body = body }
    let (request, body) = try serialize(call)
    return (
      request, body, configuration.taskOptions.merged(with: call.options).merged(with: options), own: call.headerFields
    )
  }

  private func serialize(_ call: HTTPCall) throws(HTTPError) -> (HTTPRequest, HTTPBody?) {
    var request: HTTPRequest
    var url: URL?
    if let whole = call.whole {
      request = whole
      if call.parameters == nil, call.serializer == nil { return (request, call.body) }
    } else {
      let method = call.method ?? (call.body == nil ? .get : .post)
      request = HTTPRequest(method: method, scheme: nil, authority: nil, path: nil, headerFields: call.headerFields)
      url = try self.url(for: call.path)
    }
    let serializer = call.serializer ?? configuration.requestSerializer
    guard let body = call.body else {
      return try serializer.serialize(request, url: url, parameters: call.parameters)
    }
    (request, _) = try serializer.serialize(request, url: url, parameters: nil)
    if let parameters = call.parameters { try request.append(query: URLEncodedFormEncoder().encode(parameters)) }
    return (request, body)
  }
}
