import Foundation
import Netwatch
import NetwatchGTK
import NetwatchHTTP
import NetwatchNetlink

/// A window with a picture that is loaded again when somebody asks for that, and a banner that says why the network is gone. It prints
/// what has happened.
///
///     GTKExample URL
@main @MainActor enum GTKExample {
  static func main() {
    guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]) else {
      print("Usage: GTKExample URL")
      exit(64)
    }
    var parts: [AnyObject] = []
    let status = Application.run("org.example.Feed") { application in
      do { parts = try open(application, url) } catch { print("\(error)") }
    }
    exit(withExtendedLifetime(parts) { status })
  }

  /// Opens the window, and returns what has to live as long as it.
  private static func open(_ application: Application, _ url: URL) throws -> [AnyObject] {
    let indicator = ActivityIndicator()
    let session = try HTTPSessionManager(observer: indicator)
    let spinner = Spinner()
    spinner.follow(indicator)
    let bar = ProgressBar()
    let picture = Picture(Downloader(session: session, as: ImageResponseSerializer()), "The picture of the feed")
    let button = RefreshButton("Load the feed again") {
      let task = session.dataTask(url) { result in
        let text = (try? result.get()).map { "\($0.value.count) bytes" } ?? "nothing"
        print("loaded \(text)")
      }
      bar.follow(task)
      picture.show(url)
      task.resume()
      for await _ in task.states {}
    }
    let banner = NetworkBanner(try NetworkMonitor.start())
    application.openWindow("Feed", [banner, picture, bar, button, spinner])
    return [session, indicator, banner, picture, bar, button, spinner]
  }
}
