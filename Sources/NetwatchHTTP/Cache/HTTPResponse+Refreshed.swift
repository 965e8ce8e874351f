import HTTPTypes

extension HTTPResponse {
  /// Returns the response with the fields of a 304. Fields about the body are not changed.
  func refreshed(by response: HTTPResponse) -> HTTPResponse {
    let ofBody: [HTTPField.Name] = [.contentLength, .contentEncoding, .contentType, .contentRange, .transferEncoding]
    var result = self
    for field in response.headerFields where !ofBody.contains(field.name) { result.headerFields[field.name] = nil }
    for field in response.headerFields where !ofBody.contains(field.name) { result.headerFields.append(field) }
    return result
  }
}
