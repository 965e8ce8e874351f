import ArgumentParser
import Netwatch
import NetwatchEventLoop
import NetwatchNetlink

extension PlainError {
  /// Runs a command's work; what stops it is told on standard error, and the exit status becomes 2.
  ///
  /// - Throws: errors of the command line as they are, since ArgumentParser tells them.
  static func reporting<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      guard error is PlainError || error is NetlinkError || error is TraceError || error is SystemError else {
        throw error
      }
      StandardError.tell("\(error)".harmless)
      throw ExitCode(2)
    }
  }

  /// Reads what an option says; a sentence about what is wrong with it becomes ArgumentParser's, which tells it with the usage.
  static func asUsage<Value>(_ body: () throws(PlainError) -> Value) throws -> Value {
    do throws(PlainError) {
      return try body()
    } catch {
      throw ValidationError(error.description)
    }
  }
}
