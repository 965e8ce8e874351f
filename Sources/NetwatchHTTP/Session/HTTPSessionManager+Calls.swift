import FoundationEssentials
import HTTPTypes

extension HTTPSessionManager {
  /// Prepares a request for its task. If the request cannot be made, the result has the refusal.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - body: The body, instead of the call's own. Nil keeps the call's own.
  ///   - options: Options that take precedence over those of the call, which take precedence over those of the session.
  ///   - kind: The kind of the task, which decides what becomes of the response.
  func prepare(
    _ request: some RequestConvertible, _ body: HTTPBody?, _ options: HTTPTaskOptions,
    _ kind: HTTPTaskInfo.Kind = .data
  ) -> PreparedCall {
    // A whole request needs no call, which would be another copy of it.
    if Self.isWhole(request), let whole = request as? HTTPRequest, whole.authority != nil {
      let options = configuration.taskOptions.merged(with: options)
      return PreparedCall(whole, body, options, own: whole.headerFields, kind: kind)
    }
    do throws(HTTPError) {
      var call = try request.makeCall()
      if let body { call.body = body }
      let (request, body) = try serialize(call)
      let options = configuration.taskOptions.merged(with: call.ownOptions).merged(with: options)
      return PreparedCall(request, body, options, own: call.headerFields, kind: kind)
    } catch {
      let empty = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
      let options = configuration.taskOptions.merged(with: options)
      return PreparedCall(empty, nil, options, own: [:], kind: kind, refusal: error)
    }
  }

  private static func isWhole<Request>(_ request: Request) -> Bool { Request.self == HTTPRequest.self }

  private func serialize(_ call: HTTPCall) throws(HTTPError) -> (HTTPRequest, HTTPBody?) {
    var request: HTTPRequest
    var url: URL?
    if let whole = call.request {
      request = whole
      if let method = call.ownMethod { request.method = method }
      if let path = call.ownPath { request.path = path }
      if let fields = call.ownFields { request.headerFields = fields }
      guard call.parameters != nil || call.serializer != nil else { return (request, call.body) }
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
