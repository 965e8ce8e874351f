import ArgumentParser
import Netwatch
import NetwatchEventLoop
import NetwatchNetlink

extension PlainError {
  /// Runs the work of a command. An error is reported on standard error, and the exit status becomes 2.
  ///
  /// - Throws: An `ExitCode` after a reported error. Other errors, such as those of the command line, are not changed, because
  ///   ArgumentParser reports them.
  static func reporting<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      guard error is PlainError || error is SystemError || error is TraceError else { throw error }
      StandardError.tell("\(error)".harmless)
      throw ExitCode(2)
    }
  }

  /// Reads the value of an option.
  ///
  /// - Throws: A `ValidationError` with the sentence of the `PlainError`. ArgumentParser prints it together with the usage.
  static func asUsage<Value>(_ body: () throws(PlainError) -> Value) throws -> Value {
    do throws(PlainError) {
      return try body()
    } catch {
      throw ValidationError(error.description)
    }
  }
}
