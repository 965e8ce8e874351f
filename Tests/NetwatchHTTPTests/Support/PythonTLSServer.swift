import Foundation
import NetwatchTestSupport

/// A TLS server that a test writes in Python: it determines every byte, and how each connection ends. The program ends
/// when the last reference to this object is released.
final class PythonTLSServer {
  private let port: LoopbackPort
  private let folder: TemporaryFolder
  private let program: SpawnedServer

  var url: URL { URL(string: "https://127.0.0.1:\(port.number)/")! }

  /// - Parameters:
  ///   - certificate: The certificate and key of the server.
  ///   - alpn: The protocol that the server selects with ALPN.
  ///   - script: Defines the function `serve(tls, number)`, which is called in a thread for each connection; the first
  ///     one has the number 0. The script may use `head(tls)`, which reads a head of HTTP/1; `frames(tls)`, which
  ///     yields the frames of HTTP/2 as (kind, flags, stream, content); `frame(…)`, which makes a frame; `note(line)`,
  ///     which adds a line to ``notes``; and `cut(tls)`, which ends TCP without a TLS alert.
  init(_ certificate: CertificateAuthority.Pair, alpn: String = "http/1.1", _ script: String) throws {
    port = try LoopbackPort()
    folder = try TemporaryFolder()
    try folder.write(Data(), to: "notes")
    program = try SpawnedServer(
      "python3",
      [
        "/usr/bin/env", "python3", "-S", "-c", Self.beginning + script + Self.end, "\(port.number)",
        certificate.certificate.path, certificate.key.path, alpn, folder.file("notes"),
      ], ports: [port.number])
  }

  /// The lines that the script has noted so far.
  var notes: [String] {
    get throws {
      try String(contentsOfFile: folder.file("notes"), encoding: .utf8).split(separator: "\n").map(String.init)
    }
  }

  private static let beginning = """
    import os, socket, ssl, struct, sys, threading, time
    port, certificate, key, alpn, notes = sys.argv[1:]
    DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
    END_STREAM, END_HEADERS = 1, 4
    OK = b'\\x88'

    def note(line):
        with open(notes, 'a') as file:
            file.write(line + '\\n')

    def head(tls):
        text = b''
        while b'\\r\\n\\r\\n' not in text:
            more = tls.recv(65536)
            if not more:
                return None
            text += more
        return text.decode('latin-1')

    def frame(kind, flags, stream, content=b''):
        return struct.pack('>I', len(content))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + content

    def goaway(last, code=0):
        return frame(GOAWAY, 0, 0, struct.pack('>II', last, code))

    def field(name, value):
        return b'\\0' + bytes([len(name)]) + name + bytes([len(value)]) + value

    def status(code):
        return b'\\x08\\x03' + str(code).encode()

    def frames(tls, settings=b''):
        tls.sendall(frame(SETTINGS, 0, 0, settings))
        read = tls.makefile('rb').read
        if read(24)[:3] != b'PRI':
            return
        while True:
            start = read(9)
            if len(start) < 9:
                return
            kind, flags, stream = start[3], start[4], struct.unpack('>I', start[5:])[0]
            content = read(struct.unpack('>I', b'\\0' + start[:3])[0])
            if kind == SETTINGS and not flags:
                tls.sendall(frame(SETTINGS, 1, 0))
            yield kind, flags, stream, content

    def cut(tls):
        # Without a reset, which could overtake what was sent.
        plain = socket.socket(fileno=tls.detach())
        plain.settimeout(60)
        plain.shutdown(socket.SHUT_WR)
        while plain.recv(65536):
            pass
        plain.close()


    """

  private static let end = """

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols([alpn])
    listener = socket.create_server(('127.0.0.1', int(port)), backlog=64)

    def meet(plain, number):
        try:
            tls = context.wrap_socket(plain, server_side=True)
            serve(tls, number)
        except OSError:
            pass

    def accept():
        number = 0
        while True:
            plain, _ = listener.accept()
            # The first one asks whether the server is up.
            plain.settimeout(60)
            try:
                if not plain.recv(1, socket.MSG_PEEK):
                    continue
            except OSError:
                continue
            threading.Thread(target=meet, args=(plain, number), daemon=True).start()
            number += 1

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.readline()
    os._exit(0)
    """
}
