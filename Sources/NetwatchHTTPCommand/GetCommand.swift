import ArgumentParser
import Glibc
import NetwatchHTTPOptions

/// `netwatch-http get`: a download, as a person at a terminal or a script wants it.
struct GetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: GetOptions.abstract, discussion: GetOptions.discussion)

  @OptionGroup var options: GetOptions

  func run() throws {
    Message.keepPlace()
    let ending: Getter.Ending
    do {
      ending = try Getter(options).run()
    } catch let failure as GetFailure {
      Message.tell(failure.description)
      throw ExitCode(1)
    } catch {
      Message.tell("\(error)")
      throw ExitCode(2)
    }
    switch ending {
    case .done: return
    case .failed: throw ExitCode(1)
    case .interrupted(let signal):
      // So that a shell sees it, and ends its script too.
      Glibc.signal(signal, SIG_DFL)
      raise(signal)
      throw ExitCode(128 + signal)
    }
  }
}
