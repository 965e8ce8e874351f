import Foundation
import Glibc
import HTTPTypes
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of a process that is killed in the middle of a download, again and again. `NETWATCH_DOWNLOAD_KILLS=100` and
/// `NETWATCH_DOWNLOAD_MEGABYTES=1024` make the test long.
@Suite struct ResumeKillTests {
  private static func setting(_ name: String, _ standard: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? standard
  }

  /// Writes a file whose bytes are different everywhere, and which is made quickly.
  private static func write(_ megabytes: Int, to file: URL) throws {
    var random = SplitMix(seed: 4)
    try Data().write(to: file)
    let handle = try FileHandle(forWritingTo: file)
    for _ in 0..<megabytes {
      let words = (0..<131_072).map { _ in random.next() }
      handle.write(unsafe words.withUnsafeBytes { unsafe Data($0) })
    }
    try handle.close()
  }

  private static func size(_ file: URL) -> Int64 {
    var status = stat()
    return unsafe stat(file.path, &status) == 0 ? Int64(status.st_size) : 0
  }

  @Test func `a download that is killed again and again gives the same file`() throws {
    let (kills, megabytes) = (
      Self.setting("NETWATCH_DOWNLOAD_KILLS", 8), Self.setting("NETWATCH_DOWNLOAD_MEGABYTES", 32)
    )
    // The server is so slow that a kill comes while the download is running.
    let server = try NginxServer(server: "limit_rate \(max(megabytes / 2, 16))m;")
    let source = server.folder.url("files/large.bin")
    try Self.write(megabytes, to: source)
    let whole = Int64(megabytes) << 20
    let folder = try TemporaryFolder()
    let (target, part) = (folder.url("here.bin"), folder.url("here.bin.netwatch-part"))
    var random = SplitMix(seed: UInt64(getpid()))
    var killed = 0
    var resumed = 0
    while killed < kills {
      let before = Self.size(part)
      let child = try Programs.start(
        [Programs.httpProbe, "download", server.url.appending(path: "large.bin").absoluteString, target.path])
      // The rest of the file is divided among the kills that are still to come. Some kills come as soon as there are
      // new bytes.
      let step = 2 * (whole - before) / Int64(kills - killed + 1)
      let wanted = random.oneIn(8) ? before : before + Int64.random(in: 0...max(step, 1), using: &random)
      // Without this limit, the last kills would come after the end of the download.
      let limit = min(wanted, whole - whole / 20)
      var ending: ProcessEnding?
      try eventually(Self.size(part), within: 60) { size in
        ending = ChildProcess.ending(of: child)
        return ending != nil || size > limit
      }
      if ending == nil {
        kill(child, SIGKILL)
        ending = ChildProcess.waitForEnd(of: child)
      }
      if ending == .exited(0) {
        // On a busy machine, the download may end before it can be killed. It then begins again.
        try Programs.run(["cmp", source.path, target.path])
        try FileManager.default.removeItem(at: target)
        continue
      }
      killed += 1
      try #require(Self.size(part) >= before && Self.size(target) == 0)
      if before > 0, Self.size(part) > before { resumed += 1 }
    }
    try Programs.run([
      Programs.httpProbe, "download", server.url.appending(path: "large.bin").absoluteString, target.path,
    ])
    #expect(resumed > kills / 4)
    try Programs.run(["cmp", source.path, target.path])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["here.bin"])
  }
}
