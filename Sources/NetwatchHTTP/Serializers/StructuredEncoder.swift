import FoundationEssentials

/// Makes a ``StructuredValue`` from an encodable value.
struct StructuredEncoder: Encoder {
  /// A node of the tree, which a container fills.
  final class Node {
    enum Content {
      case nothing
      case value(StructuredValue)
      case elements([Node])
      case members(Members)
    }

    /// Members in the order in which they were encoded.
    struct Members {
      private(set) var nodes: [String: Node] = [:]
      private var names: [String] = []

      var inOrder: [(name: String, node: Node)] { names.compactMap { name in nodes[name].map { (name, $0) } } }

      mutating func add(_ node: Node, _ name: String) {
        nodes[name] = node
        names.append(name)
      }
    }

    var content = Content.nothing

    init() {}

    /// Creates the tree of a value.
    ///
    /// - Throws: `cannotEncodeRequest` for any error that the value throws.
    convenience init(encoding value: some Encodable) throws(HTTPError) {
      self.init()
      do {
        try StructuredEncoder(self, path: []).write(value)
      } catch {
        throw HTTPError(.cannotEncodeRequest, "encode the parameters", message: "\(error)", underlying: error)
      }
    }

    var value: StructuredValue {
      switch content {
      case .nothing: .dictionary([:])
      case .value(let value): value
      case .elements(let nodes): .array(nodes.map(\.value))
      case .members(let members): .dictionary(members.nodes.mapValues(\.value))
      }
    }

    func append() -> Node {
      let node = Node()
      if case .elements(var nodes) = content {
        content = .nothing
        nodes.append(node)
        content = .elements(nodes)
      } else {
        content = .elements([node])
      }
      return node
    }

    func member(_ key: String) -> Node {
      var members = Members()
      if case .members(let known) = content { members = known }
      if let node = members.nodes[key] { return node }
      let node = Node()
      content = .nothing
      members.add(node, key)
      content = .members(members)
      return node
    }

    var count: Int { if case .elements(let nodes) = content { nodes.count } else { 0 } }
  }

  /// The key of a node: the name of a member, or the index of an element.
  struct Key: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ index: Int) { (stringValue, intValue) = ("\(index)", index) }
    init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
    init?(intValue: Int) { self.init(intValue) }
  }

  private let node: Node
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]

  init(_ node: Node, path: [any CodingKey]) {
    self.node = node
    codingPath = path
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Members<Key>(node: node, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { Elements(node: node, codingPath: codingPath) }

  func singleValueContainer() -> any SingleValueEncodingContainer { Single(node: node, codingPath: codingPath) }

  /// Fills the node with a value.
  func write(_ value: some Encodable) throws {
    guard codingPath.count < StructuredValue.deepest else {
      throw failure(value, "more than \(StructuredValue.deepest) levels")
    }
    switch value {
    case let value as StructuredValue: node.content = .value(value)
    case let value as Date: node.content = .value(.date(value))
    case let value as Data: node.content = .value(.data(value))
    case let value as URL: node.content = .value(.string(value.absoluteString))
    default: try value.encode(to: self)
    }
  }

  func write(_ value: StructuredValue) { node.content = .value(value) }

  func write(whole value: some BinaryInteger) throws {
    if let large = UInt64(exactly: value), large > Int64.max { return write(.unsigned(large)) }
    guard let whole = Int64(exactly: value) else {
      throw failure(value, "\(value) does not fit into 64 bits with a sign")
    }
    write(.integer(whole))
  }

  private func failure(_ value: Any, _ text: String) -> EncodingError {
    .invalidValue(value, EncodingError.Context(codingPath: codingPath, debugDescription: text))
  }
}

extension StructuredEncoder {
  private struct Single: SingleValueEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]
    private var encoder: StructuredEncoder { StructuredEncoder(node, path: codingPath) }

    init(node: Node, codingPath: [any CodingKey]) { (self.node, self.codingPath) = (node, codingPath) }

    mutating func encodeNil() { encoder.write(.null) }
    mutating func encode(_ value: Bool) { encoder.write(.bool(value)) }
    mutating func encode(_ value: String) { encoder.write(.string(value)) }
    mutating func encode(_ value: Double) { encoder.write(.number(value)) }
    /// Converted by its text, so that 0.1 stays 0.1.
    mutating func encode(_ value: Float) { encoder.write(.number(Double("\(value)") ?? Double(value))) }
    mutating func encode(_ value: Int) throws { try encoder.write(whole: value) }
    mutating func encode(_ value: Int8) throws { try encoder.write(whole: value) }
    mutating func encode(_ value: Int16) throws { try encoder.write(whole: value) }
    mutating func encode(_ value: Int32) throws { try encoder.write(whole: value) }
    mutating func encode(_ value: Int64) throws { try encoder.write(whole: value) }
    mutating func encode(_ value: UInt) throws { try encoder.write(whole: value) }
    mutating func encode(_ value: UInt8) throws { try encoder.write(whole: value) }
    mutating func encode(_ value: UInt16) throws { try encoder.write(whole: value) }
    mutating func encode(_ value: UInt32) throws { try encoder.write(whole: value) }
    mutating func encode(_ value: UInt64) throws { try encoder.write(whole: value) }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try encoder.write(value) }
  }

  private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: Node
    let codingPath: [any CodingKey]

    init(node: Node, codingPath: [any CodingKey]) {
      (self.node, self.codingPath) = (node, codingPath)
      if case .members = node.content { return }
      node.content = .members(StructuredEncoder.Node.Members())
    }

    private func encoder(_ key: any CodingKey) -> StructuredEncoder {
      StructuredEncoder(node.member(key.stringValue), path: codingPath + [key])
    }

    mutating func encodeNil(forKey key: Key) { encoder(key).write(.null) }
    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try encoder(key).write(value) }

    mutating func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { encoder(key).container(keyedBy: type) }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      encoder(key).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { encoder(StructuredEncoder.Key(stringValue: "super")) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }
  }

  private struct Elements: UnkeyedEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]
    var count: Int { node.count }

    init(node: Node, codingPath: [any CodingKey]) {
      (self.node, self.codingPath) = (node, codingPath)
      if case .elements = node.content { return }
      node.content = .elements([])
    }

    private func encoder() -> StructuredEncoder {
      let key = StructuredEncoder.Key(node.count)
      return StructuredEncoder(node.append(), path: codingPath + [key])
    }

    mutating func encodeNil() { encoder().write(.null) }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try encoder().write(value) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
      encoder().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { encoder() }
  }
}
