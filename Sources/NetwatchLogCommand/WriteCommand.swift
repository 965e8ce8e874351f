import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchLog
import NetwatchOptions

/// `netwatch-log write`: stores the lines that netwatch writes to its standard input.
struct WriteCommand {
  private var folder: String?
  private var sizeLimit = LogStore.sizeLimit

  @OptionTable<WriteCommand> static var options: [Option<WriteCommand>] {
    Option.text("--folder", value: "folder", of: [.write], help: "The folder of the log.") { $0.folder = $1 }
    Option.number(
      "--size-limit", value: "bytes", in: 1...Int.max, of: [.write], help: "The most that the log may take on the disk."
    ) { $0.sizeLimit = Int64($1) }
  }

  func run() throws -> ProcessEnding {
    // The names of networks reveal where somebody was, so no other user may read the files.
    umask(0o077)
    let place = try folder.map { LogPlace(folder: $0) } ?? LogPlace.standard()
    try LogWriter(place, sizeLimit: sizeLimit).run()
    return .exited(0)
  }
}
