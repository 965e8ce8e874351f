#if AsyncHTTPClient
  import AsyncHTTPClient
  import Glibc
  import Netwatch
  import NetwatchAsyncHTTPClient
  import NetwatchNetlink

  /// Sends requests with AsyncHTTPClient over the path of a monitor: `get URL SECONDS` on a line of the standard input waits this long for
  /// a path. Prints `begun` before a request and its end, with the time in nanoseconds of the clock CLOCK_MONOTONIC.
  @main enum TraitProbe {
    static func main() async throws {
      let monitor = try NetworkMonitor.start()
      let client = HTTPClient(eventLoopGroupProvider: .singleton)
      say("ready")
      while let line = readLine() {
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 3, let seconds = Double(words[2]) else { continue }
        say("begun")
        let outcome: String
        do {
          let status = try await client.execute(
            HTTPClientRequest(url: words[1]), over: monitor, waiting: .seconds(seconds)
          ) { response in
            for try await _ in response.body {}
            return response.status.code
          }
          outcome = "\(status)"
        } catch {
          outcome = "\(error)"
        }
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        say("\(now.tv_sec * 1_000_000_000 + now.tv_nsec) \(outcome)")
      }
      try await client.shutdown()
    }

    private static func say(_ text: String) {
      print(text)
      fflush(nil)
    }
  }
#else
  @main enum TraitProbe {
    static func main() { print("enable the trait AsyncHTTPClient") }
  }
#endif
