import FoundationEssentials
import HTTPTypes

/// A stored answer as it stands in a file. What is read was checked for damage, not for sense.
extension StoredAnswer {
  private struct Record: Codable {
    var url: String
    var selecting: [String: [String]]
    var status: Int
    var reason: String
    /// Names and values.
    var fields: [[String]]
    var asked: Int64
    var came: Int64
  }

  /// Nil for an answer that is too long.
  var fileText: [UInt8]? {
    let record = Record(
      url: url, selecting: selectingFields, status: response.status.code, reason: response.status.reasonPhrase,
      fields: response.headerFields.map { [$0.name.rawName, $0.value] }, asked: asked, came: came)
    guard let text = try? JSONEncoder().encode(record), text.count <= AnswerPreface.mostHeadBytes else { return nil }
    return Array(text)
  }

  /// Nil for anything but what ``fileText`` writes.
  init?(fileText: [UInt8]) {
    guard let record = try? JSONDecoder().decode(Record.self, from: Data(fileText)), 200..<600 ~= record.status else {
      return nil
    }
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
