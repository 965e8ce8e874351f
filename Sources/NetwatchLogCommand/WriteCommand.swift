import ArgumentParser
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchLog

/// `netwatch-log write`: stores the lines that netwatch writes to its standard input.
struct WriteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "write", abstract: "Store lines of the stream from standard input in the log.", shouldDisplay: false)

  @Option(help: ArgumentHelp("The folder of the log.", valueName: "folder"))
  var folder: String?

  @Option(help: ArgumentHelp("The most that the log may take on the disk, in bytes.", valueName: "bytes"))
  var sizeLimit = LogStore.sizeLimit

  func run() throws {
    StandardError.keepPlace()
    // The names of networks reveal where somebody was, so no other user may read the files.
    umask(0o077)
    do {
      let place = try folder.map { LogPlace(folder: $0) } ?? LogPlace.standard()
      try LogWriter(place, sizeLimit: sizeLimit).run()
    } catch {
      StandardError.tell("\(error)".harmless)
      throw ExitCode(2)
    }
  }
}
