import Foundation
import NetwatchTestSupport

/// A server of server-sent events by Python's standard library, in a process of its own. The process ends when the last
/// reference to this object is released.
final class PythonEventServer {
  private let port: LoopbackPort
  private let program: SpawnedServer

  var number: UInt16 { port.number }
  var url: URL { URL(string: "http://127.0.0.1:\(port.number)/")! }

  /// - Parameters:
  ///   - count: The number of events. The data of event n are n and its square. A request for events after the last one
  ///     is answered with 204.
  ///   - outages: The number of connections that are broken off.
  init(count: Int, outages: Int) throws {
    port = try LoopbackPort()
    program = try SpawnedServer(
      "python3",
      ["/usr/bin/env", "python3", "-S", "-c", Self.script, "\(port.number)", "\(count)", "\(outages)"],
      ports: [port.number])
  }

  private static let script = """
    import http.server, os, random, sys, threading
    port, count, outages = map(int, sys.argv[1:])
    chance = random.Random(11)
    left = [outages]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            first = int(self.headers.get('Last-Event-ID') or 0)
            if first == count or self.headers.get('Accept') != 'text/event-stream':
                self.send_response(204 if first == count else 406)
                self.end_headers()
                return
            self.send_response(200)
            self.send_header('Content-Type', 'text/event-stream')
            self.end_headers()
            text = 'retry: 1\\n\\n' + ''.join(
                f'event: square\\ndata: {n}\\ndata: {n * n}\\nid: {n}\\n\\n' for n in range(first + 1, count + 1))
            if left[0]:
                left[0] -= 1
                text = text[:min(chance.randrange(len(text)), len(text) - 2, 40 * count // outages)]
            self.wfile.write(text.encode())

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.readline()
    os._exit(0)
    """
}
