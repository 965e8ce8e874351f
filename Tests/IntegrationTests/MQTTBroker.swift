import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// A broker at 127.0.0.1 in a network namespace, and a reader of its messages.
final class MQTTBroker {
  enum Kind: String, CaseIterable { case mosquitto, nats }

  /// What a reader got.
  struct Message {
    var topic: String
    var isRetained: Bool
    var payload: [String: Any]

    /// The last level of the topic.
    var kind: String { topic.split(separator: "/").last.map(String.init) ?? "" }
  }

  let network: NetworkNamespace
  let folder: TemporaryFolder
  private let kind: Kind
  private var process: ChildProcess?
  private var reader: ChildProcess?

  /// - Parameter more: Further lines of the broker's configuration. Default: everybody may do everything, without encryption.
  init(_ kind: Kind, _ more: String? = nil) throws {
    self.kind = kind
    network = try .withPair()
    folder = try TemporaryFolder()
    switch kind {
    case .mosquitto:
      try folder.write(
        """
        user root
        max_queued_messages 100000
        persistence true
        persistence_location \(folder.path)/
        \(more ?? "listener 1883 127.0.0.1\nallow_anonymous true")

        """, to: "conf")
    case .nats:
      try folder.write(
        """
        server_name: one
        listen: 127.0.0.1:4222
        jetstream { store_dir: "\(folder.path)" }
        \(more ?? "mqtt { listen: 127.0.0.1:1883 }")

        """, to: "conf")
    }
    try start()
  }

  func start() throws {
    try requireProgram(kind == .nats ? "nats-server" : "mosquitto")
    process = try ChildProcess(
      network.command([kind == .nats ? "nats-server" : "mosquitto", "-c", folder.file("conf")]))
    try network.run("until ss -Hltn | grep -qE ':(1883|8883) '; do sleep 0.01; done")
  }

  func stop(_ signal: CInt = SIGTERM) throws {
    process?.signal(signal)
    _ = try process?.wait()
  }

  /// Has the kernel keep the broker from doing anything, or lets it go on.
  func freeze(_ isFrozen: Bool) { process?.signal(isFrozen ? SIGSTOP : SIGCONT) }

  // MARK: A reader

  /// Begins to read all messages of machines, with a session that outlives the broker's connection; or has nats-server store them in a
  /// stream.
  func read(_ more: String...) throws {
    if kind == .nats {
      try folder.write(Self.streamReader, to: "stream.py")
      _ = try stream("create")
      return
    }
    try requireProgram("mosquitto_sub")
    let command =
      ["mosquitto_sub", "-h", "127.0.0.1", "-q", "1", "-c", "-i", "reader", "-t", "netwatch/#", "-F", "%t %r %p"] + more
    reader = try ChildProcess(
      network.command(["sh", "-c", "\(command.map { "'\($0)'" }.joined(separator: " ")) >>'\(folder.file("read"))'"]))
    try eventually(reading) { $0 }
  }

  private var reading: Bool {
    get throws {
      let result = try ChildProcess.run(network.command(["ss", "-Htn", "state", "established", "dst", "127.0.0.1"]))
      return result.output.contains { $0.contains(":1883") || $0.contains(":8883") }
    }
  }

  /// Speaks the protocol of NATS, and reads a stream from its beginning.
  private static let streamReader = """
    import base64, json, socket, sys
    connection = socket.create_connection(("127.0.0.1", 4222), 20).makefile("rwb")
    connection.readline()
    connection.write(b'CONNECT {"verbose":false}\\r\\nSUB answers 1\\r\\n')
    def ask(subject, body):
        text = json.dumps(body).encode()
        connection.write(f"PUB $JS.API.STREAM.{subject}.$MQTT_msgs answers {len(text)}\\r\\n".encode() + text + b"\\r\\n")
        connection.flush()
        while not (line := connection.readline()).startswith(b"MSG "):
            assert line, "the connection is closed"
        return json.loads(connection.read(int(line.split()[-1]) + 2))
    if sys.argv[1] == "create":
        assert "error" not in ask("CREATE", {"name": "$MQTT_msgs", "subjects": ["$MQTT.msgs.>"], "storage": "file"})
    else:
        number = 1
        while "message" in (answer := ask("MSG.GET", {"seq": number})):
            message = answer["message"]
            print(message["subject"].removeprefix("$MQTT.msgs.").replace(".", "/"), 0, base64.b64decode(message["data"]).decode())
            number += 1
    """

  private func stream(_ action: String) throws -> [String] {
    let result = try ChildProcess.run(network.command(["python3", folder.file("stream.py"), action]))
    guard action == "read" || result.ending == .exited(0) else { throw TestFailure(result.error) }
    return result.output
  }

  /// None while the broker does not run.
  private var lines: [String] {
    kind == .nats ? (try? stream("read")) ?? [] : folder.text(of: "read").split(separator: "\n").map(String.init)
  }

  var messages: [Message] {
    lines.compactMap { line in
      let parts = line.split(separator: " ", maxSplits: 2)
      guard parts.count == 3,
        let payload = try? JSONSerialization.jsonObject(with: Data(parts[2].utf8)) as? [String: Any]
      else { return nil }
      keepLine(String(parts[2]), of: "fleet")
      return Message(topic: String(parts[0]), isRetained: parts[1] == "1", payload: payload)
    }
  }

  /// The lines of all machines: the numbers of each run, in the order in which they came, without those that came again. What the broker
  /// retains tells how things are, and is no news.
  var numbers: [String: [Int]] {
    var seen: [String: Set<Int>] = [:]
    return messages.filter { $0.kind == "line" && !$0.isRetained }.reduce(into: [:]) { numbers, message in
      guard let run = message.payload["run"] as? String, let number = message.payload["n"] as? Int,
        seen[run, default: []].insert(number).inserted
      else { return }
      numbers[run, default: []].append(number)
    }
  }

  /// Whether machines are there, as it came.
  var presence: [String] {
    messages.filter { $0.kind == "presence" }.map { message in
      message.payload["online"] as? Bool == true ? "online" : message.payload["absence"] as? String ?? ""
    }
  }
}
