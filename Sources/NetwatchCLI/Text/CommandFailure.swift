import ArgumentParser
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// Why a command could not run or go on: one sentence on stderr, exit status 2.
struct CommandFailure: Error {
  let message: String

  init(_ message: String) { self.message = message }

  /// Runs a command's work; its failure is told and becomes the exit status.
  static func reporting<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let failure as CommandFailure {
      report(failure.message)
    } catch let error as NetlinkError {
      report(error.description)
    } catch let error as TraceError {
      report(error.description)
    } catch let error as ServiceError {
      report(error.description)
    } catch let error as SystemError {
      report(error.description)
    }
    throw ExitCode(2)
  }

  /// Tells something that need not end the command.
  static func report(_ message: String) {
    var line = "netwatch: \(message)\n"
    line.withUTF8 { text in _ = unsafe write(STDERR_FILENO, text.baseAddress, text.count) }
  }
}
