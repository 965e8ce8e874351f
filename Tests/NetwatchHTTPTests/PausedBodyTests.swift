import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of bodies whose reading pauses, over connections that an earlier request has used.
@Suite(.timeLimit(.minutes(10))) struct PausedBodyTests {
  /// The way in which the end of a body is marked.
  enum Framing: String, CaseIterable { case length, chunked, close }

  /// The reason why the engine pauses.
  private enum Pause: CaseIterable { case slowReader, fastReader, suspension, redirect, challenge }

  /// The size of a body. It is larger than the window of a reader, and larger than one read by libcurl.
  private static let count = 600_000
  private static let body = Data((0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31) >> 3) })
  /// The number of bodies of each framing over each protocol. Default: 60. `NETWATCH_TEST_STREAMS=667` makes 2,000
  /// bodies of each framing.
  private static let streams =
    ProcessInfo.processInfo.environment["NETWATCH_TEST_STREAMS"].flatMap { Int($0) } ?? 60

  /// The script of a server that answers at once, with the head and the body in one write. The responses to
  /// `/redirect/PATH` and `/challenge/PATH` also have bodies.
  private static let script = """
    const body = Buffer.from(Array.from({ length: \(count) }, (_, index) => (index * 31 >> 3) & 255));
    const answer = path => {
      const [, first, second] = path.split('/');
      if (first === 'redirect') return { status: 302, fields: { location: `/${second}` }, body, how: 'length' };
      return { status: 200, fields: {}, how: first, body: first === 'small' ? body.subarray(0, 10) : body };
    };
    const challenge = { status: 401, fields: { 'www-authenticate': 'Basic realm="x"' }, body, how: 'length' };
    const isLocked = (path, authorization) => path.startsWith('/challenge') && !authorization;
    const open = path => path.startsWith('/challenge') ? path.slice('/challenge'.length) : path;
    const serve = socket => {
      let text = '';
      socket.on('error', () => {}).on('data', data => {
        text += data;
        if (!text.endsWith('\\r\\n\\r\\n')) return;
        const path = text.split(' ')[1];
        const isOpen = /^authorization:/im.test(text);
        const { status, fields, body, how } = isLocked(path, isOpen) ? challenge : answer(open(path));
        text = '';
        let head = `HTTP/1.1 ${status} X\\r\\n`;
        for (const name in fields) head += `${name}: ${fields[name]}\\r\\n`;
        if (how === 'chunked') {
          const parts = [Buffer.from(`${head}transfer-encoding: chunked\\r\\n\\r\\n`)];
          for (let start = 0; start < body.length; start += 50000) {
            const part = body.subarray(start, start + 50000);
            parts.push(Buffer.from(part.length.toString(16) + '\\r\\n'), part, Buffer.from('\\r\\n'));
          }
          socket.write(Buffer.concat([...parts, Buffer.from('0\\r\\n\\r\\n')]));
        } else if (how === 'close') {
          socket.end(Buffer.concat([Buffer.from(`${head}connection: close\\r\\n\\r\\n`), body]));
        } else {
          socket.write(Buffer.concat([Buffer.from(`${head}content-length: ${body.length}\\r\\n\\r\\n`), body]));
        }
      });
    };
    server.on('connection', socket => { if (!server.setSecureContext) serve(socket); });
    server.on('secureConnection', socket => { if (socket.alpnProtocol !== 'h2') serve(socket); });
    server.on('request', (request, response) => {
      const { status, fields, body, how } =
        isLocked(request.url, request.headers.authorization) ? challenge : answer(open(request.url));
      response.stream.on('error', () => {});
      response.writeHead(status, how === 'length' ? { ...fields, 'content-length': body.length } : fields);
      response.end(body);
    });
    """

  private static let servers = NodeServer.Kind.allCases.reduce(into: [:]) { servers, kind in
    servers[kind] = Result {
      let server = try NodeServer(script, over: kind)
      server.folder.removeAtExit()
      try server.goesFirst(on: processor)
      return server
    }
  }

  private static func server(_ kind: NodeServer.Kind) throws -> NodeServer { try #require(servers[kind]).get() }

  /// The processor of the servers and of the sessions' threads. A server takes the processor from a thread that sends
  /// it a request. So libcurl sends, finds the answer, and pauses within one call.
  private static let processor =
    (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.firstMatch(of: /Cpus_allowed_list:\s*(\d+)/)
    .map { String($0.1) } ?? "0"

  private static func session(
    _ server: NodeServer, _ change: (inout HTTPSessionConfiguration) -> Void = { _ in }
  ) async throws -> HTTPSessionManager {
    let session = try server.session(change)
    let thread = try await thread(of: session)
    try Programs.run(["taskset", "-cp", processor, thread])
    return session
  }

  /// Returns the number of a session's thread.
  private static func thread(of session: HTTPSessionManager) async throws -> String {
    let path = try await withCheckedThrowingContinuation { continuation in
      session.engines.handles[0].run { _ in
        continuation.resume(
          with: Result { try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self") })
      }
    }
    return URL(filePath: path).lastPathComponent
  }

  /// Returns whether a thread sleeps, and the numbers of its context switches, which grow whenever it runs.
  private static func activity(of thread: String) throws -> (isAsleep: Bool, switches: String) {
    let text = try String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8)
    func value(_ key: String) -> Substring {
      text.split(separator: "\n").first { $0.hasPrefix("\(key):") }?.split(separator: "\t").dropFirst().first ?? ""
    }
    return (value("State").hasPrefix("S"), "\(value("voluntary_ctxt_switches")) \(value("nonvoluntary_ctxt_switches"))")
  }

  /// Lets the session's thread do all that it can, `turns` times.
  private static func pause(_ turns: Int, _ session: HTTPSessionManager) async {
    for _ in 0..<turns { _ = await session.tasks() }
  }

  /// Returns the body of a stream whose reader pauses before each part.
  private static func body(of stream: HTTPStream, in session: HTTPSessionManager, turns: Int) async throws -> Data {
    var body = Data()
    await pause(turns * 2, session)
    for try await part in stream.body {
      body += part
      await pause(turns, session)
    }
    return body
  }

  /// Returns the body of a task that is suspended when this many bytes have come, and resumed later.
  private static func body(
    of request: HTTPRequest, in session: HTTPSessionManager, suspendedAt count: Int64, turns: Int
  ) async throws -> Data {
    let task = Box<HTTPTask?>(nil)
    let suspended = Box(false)
    let outcome = Box<Result<Data, HTTPError>?>(nil)
    var options = HTTPTaskOptions()
    options.progressInterval = .zero
    options.executor = .immediate
    options.onProgress = { progress in
      guard progress.received >= count, !suspended.now else { return }
      suspended.change { $0 = true }
      task.now?.suspend()
    }
    let made = session.dataTask(request, options: options) { result in
      outcome.change { $0 = result.map(\.value) }
    }
    task.change { $0 = made }
    made.resume()
    try await eventually(suspended.now || outcome.now != nil) { $0 }
    await pause(turns * 2, session)
    made.resume()
    try await eventually(outcome.now != nil) { $0 }
    return try #require(outcome.now).get()
  }

  @Test(arguments: NodeServer.Kind.allCases, Framing.allCases)
  func `a body that pauses arrives whole over a connection that was kept`(
    _ kind: NodeServer.Kind, _ framing: Framing
  ) async throws {
    let server = try Self.server(kind)
    func begin() async throws -> (HTTPSessionManager, HTTPTaskOptions) {
      let session = try await Self.session(server)
      var options = HTTPTaskOptions()
      options.onRedirect = { redirect in
        await Self.pause(2, session)
        return redirect.next
      }
      options.onChallenge = { _ in
        await Self.pause(2, session)
        return HTTPCredential(user: "user", password: "password")
      }
      return (session, options)
    }
    var (session, options) = try await begin()
    let small = try HTTPRequest(.get, to: server.url.appending(path: "small"))
    let direct = try HTTPRequest(.get, to: server.url.appending(path: framing.rawValue))
    let others = try ["redirect", "challenge"].map {
      try HTTPRequest(.get, to: server.url.appending(path: $0).appending(path: framing.rawValue))
    }
    var wrong: [String] = []
    for number in 0..<Self.streams {
      // Node ends a connection on which a thousand streams were reset within a short time (CVE-2023-44487), and libcurl
      // 7.88 also resets complete streams.
      if number % 100 == 99 { (session, options) = try await begin() }
      _ = try await session.data(for: small)
      let pause = Pause.allCases[number % Pause.allCases.count]
      do {
        let body =
          switch pause {
          case .fastReader: try await Self.body(of: session.stream(direct, options: options), in: session, turns: 0)
          case .slowReader:
            try await Self.body(of: session.stream(direct, options: options), in: session, turns: number % 4)
          case .redirect:
            try await Self.body(of: session.stream(others[0], options: options), in: session, turns: number % 3)
          case .challenge:
            try await Self.body(of: session.stream(others[1], options: options), in: session, turns: number % 3)
          case .suspension:
            try await Self.body(
              of: direct, in: session, suspendedAt: Int64(number * Self.count / Self.streams), turns: number % 4)
          }
        if body != Self.body { wrong.append("\(number), \(pause): \(body.count) bytes") }
      } catch {
        wrong.append("\(number), \(pause): \(error)")
      }
    }
    #expect(wrong.isEmpty, "\(wrong.count) of \(Self.streams), such as \(wrong.prefix(5))")
  }

  /// Tests streams for which libcurl 8.14 asks again and again to be called at once. It does so for some paused streams
  /// of HTTP/2.
  @Test(arguments: NodeServer.Kind.allCases, Framing.allCases)
  func `bodies that wait for their readers leave the thread of the session alone`(
    _ kind: NodeServer.Kind, _ framing: Framing
  ) async throws {
    let session = try await Self.session(try Self.server(kind)) { $0.maximumConnectionsPerHost = 3 }
    let request = try HTTPRequest(.get, to: Self.server(kind).url.appending(path: framing.rawValue))
    let thread = try await Self.thread(of: session)
    var readers: [(reader: HTTPStream.Body.Iterator, body: Data)] = []
    for _ in 0..<3 {
      // One part is read, so that the rest is on its way or has come.
      var reader = try await session.stream(request).body.makeAsyncIterator()
      let part = try await reader.next()
      readers.append((reader, part ?? Data()))
    }
    // The bodies arrive in parts, with a rest between two of them. So the thread has to be found asleep several times
    // in a row.
    var (before, looks) = ("", 0)
    func restingLooks() throws -> Int {
      let now = try Self.activity(of: thread)
      looks = now.isAsleep && now.switches == before ? looks + 1 : 0
      before = now.switches
      return looks
    }
    try await eventually(restingLooks()) { $0 == 15 }
    for (var reader, var body) in readers {
      while let part = try await reader.next() { body += part }
      #expect(body == Self.body)
    }
  }

  /// Tests requests that wait for the connections of others. libcurl passes a connection on within one call.
  @Test(arguments: NodeServer.Kind.allCases, Framing.allCases)
  func `bodies that pause beside each other arrive whole over few connections`(
    _ kind: NodeServer.Kind, _ framing: Framing
  ) async throws {
    let server = try Self.server(kind)
    let session = try await Self.session(server) { $0.maximumConnectionsPerHost = 3 }
    let small = try HTTPRequest(.get, to: server.url.appending(path: "small"))
    let large = try HTTPRequest(.get, to: server.url.appending(path: framing.rawValue))
    let wrong = await withTaskGroup(of: String?.self) { group in
      for number in 0..<12 {
        group.addTask {
          do {
            for round in 0..<3 {
              _ = try await session.data(for: small)
              let body = try await Self.body(of: session.stream(large), in: session, turns: (number + round) % 3)
              if body != Self.body { return "\(number): \(body.count) bytes in round \(round)" }
            }
            return nil
          } catch {
            return "\(number): \(error)"
          }
        }
      }
      return await group.reduce(into: [String]()) { wrong, next in if let next { wrong.append(next) } }
    }
    #expect(wrong.isEmpty, "\(wrong)")
  }
}
