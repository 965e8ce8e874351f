import FoundationEssentials
import HTTPTypes

/// The format of a stored answer in a file. Its checksum protects it from damage, but its content may still be invalid.
extension StoredAnswer {
  private struct Record: Codable {
    var url: String
    var selecting: [String: [String]]
    var status: Int
    var reason: String
    /// The names and values of the header fields.
    var fields: [[String]]
    var asked: Int64
    var came: Int64
  }

  /// The text for the file. Nil for an answer that is too long.
  var fileText: [UInt8]? {
    let record = Record(
      url: url, selecting: selectingFields, status: response.status.code, reason: response.status.reasonPhrase,
      fields: response.headerFields.map { [$0.name.rawName, $0.value] }, asked: asked, came: came)
    guard let text = try? JSONEncoder().encode(record), text.count <= AnswerPreface.mostHeadBytes else { return nil }
    return Array(text)
  }

  /// Nil for a text that ``fileText`` does not write.
  init?(fileText: [UInt8]) {
    guard let record = try? JSONDecoder().decode(Record.self, from: Data(fileText)), 200..<600 ~= record.status,
      record.fields.count <= HTTPFields.mostReceived
    else { return nil }
    var fields = HTTPFields()
    for field in record.fields {
      guard field.count == 2, let name = HTTPField.Name(field[0]) else { return nil }
      fields.append(HTTPField(name: name, value: field[1]))
    }
    let status = HTTPResponse.Status(code: record.status, reasonPhrase: record.reason)
    self.init(
      url: record.url, selectingFields: record.selecting,
      response: HTTPResponse(status: status, headerFields: fields), asked: record.asked, came: record.came)
  }
}
