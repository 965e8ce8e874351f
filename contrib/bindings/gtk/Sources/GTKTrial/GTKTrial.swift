import CGTK
import Foundation
import Netwatch
import NetwatchGTK
import NetwatchHTTP
import NetwatchNetlink

/// Tries each widget in a window, for contrib/verify gtk, and prints a line for each. The server is that of the folder harness. The
/// commands `pull` and `plug-in` are in PATH.
///
///     GTKTrial SERVER
@main @MainActor enum GTKTrial {
  private static var failures = 0

  static func main() {
    let server = CommandLine.arguments.dropFirst().first ?? ""
    var work: Task<Void, Never>?
    _ = Application.run("org.example.Trial") { application in
      do {
        let trial = try open(application, server)
        work = Task {
          do { try await trial() } catch { expect("no error: \(error)", false) }
          exit(failures == 0 ? 0 : 1)
        }
      } catch {
        expect("no error: \(error)", false)
      }
    }
    withExtendedLifetime(work) {}
  }

  private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

  /// Waits for a line of standard input, so that a picture of the screen can be taken.
  private static func proceed() async { _ = await Task.detached { readLine() }.value }

  private static func expect(_ what: String, _ isTrue: Bool) {
    say(isTrue ? "  ok      \(what)" : "  FAILED  \(what)")
    if !isTrue { failures += 1 }
  }

  /// Waits until a condition holds, for at most 20 seconds.
  private static func expect(_ what: String, eventually isTrue: () -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(20)
    while !isTrue(), ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(10)) }
    expect(what, isTrue())
  }

  // MARK: The list

  /// Scrolls through all places in 600 frames, and looks at each picture that is shown then.
  private static func scroll(_ list: ListView<Picture>) async throws {
    let frames = 600
    var (wrong, seen, intervals) = (0, 0, [Duration]())
    // The first pass makes the rows and fills the cache.
    for pass in 0..<2 {
      let before = residentMemory()
      for frame in 0...frames {
        let began = ContinuousClock.now
        list.scroll(to: Double(frame) / Double(frames))
        try await nextFrame(of: list)
        if pass > 0 { intervals.append(ContinuousClock.now - began) }
        for (picture, place) in list.shown where picture.isShown {
          seen += 1
          if colour(of: picture) != place { wrong += 1 }
        }
      }
      if pass > 0 {
        let growth = residentMemory() - before
        expect("the second pass over 10,000 rows took \(growth) KiB more, at most 8,192", growth <= 8_192)
      }
    }
    let shown = list.shown.count
    expect("\(shown) rows are there, at most 500", shown <= 500)
    try await expect("all pictures at the end have come", eventually: { list.shown.allSatisfy { $0.row.isShown } })
    for (picture, place) in list.shown where colour(of: picture) != place { wrong += 1 }
    expect("no picture of \(seen) was wrong", wrong == 0 && seen > 0)
    let sorted = intervals.sorted()
    say("frames while scrolling: \(sorted[sorted.count / 2]) (median), \(sorted[sorted.count * 99 / 100]) (99 of 100)")
  }

  private static func nextFrame(of widget: Widget) async throws {
    let clock = unsafe gtk_widget_get_frame_clock(widget.pointer)
    let before = unsafe gdk_frame_clock_get_frame_counter(clock)
    unsafe gtk_widget_queue_draw(widget.pointer)
    while unsafe gdk_frame_clock_get_frame_counter(clock) == before { try await Task.sleep(for: .milliseconds(1)) }
  }

  /// The number that is the colour of a picture's first point.
  private static func colour(of picture: Picture) -> Int? {
    guard let texture = unsafe gtk_image_get_paintable(OpaquePointer(picture.pointer)) else { return nil }
    let size = unsafe (gdk_texture_get_width(texture), gdk_texture_get_height(texture))
    var points = [UInt8](repeating: 0, count: Int(size.0 * size.1 * 4))
    unsafe gdk_texture_download(texture, &points, gsize(size.0 * 4))
    // Blue comes first.
    return Int(points[2]) << 16 | Int(points[1]) << 8 | Int(points[0])
  }

  /// The memory of this process in KiB.
  private static func residentMemory() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line.flatMap { Int($0.split(separator: " ").dropFirst().first ?? "") } ?? 0
  }

  private static func run(_ command: String) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", command]
    try process.run()
    process.waitUntilExit()
  }

  private static func open(_ application: Application, _ server: String) throws -> @MainActor () async throws -> Void {
    let indicator = ActivityIndicator()
    let session = try HTTPSessionManager(baseURL: URL(string: server), observer: indicator)
    let spinner = Spinner()
    let bar = ProgressBar()
    let downloader = Downloader(session: session, as: ImageResponseSerializer())
    let picture = Picture(downloader, "A picture", size: 128)
    let banner = NetworkBanner(try NetworkMonitor.start())
    var rounds = 0
    let button = RefreshButton {
      rounds += 1
      _ = try? await session.data(for: "red.png")
    }
    let list = ListView(count: 0) {
      Picture(downloader, "A picture of the list", size: 32)
    } show: { picture, place in
      picture.show("place/\(place).png")
    } hide: { picture in
      picture.show(nil)
    }
    application.openWindow("Trial", height: 420, [banner, spinner, bar, picture, button, list])
    return {
      try await tryAll(indicator, session, spinner, bar, downloader, picture, banner, button, list, rounds: { rounds })
      try await tryLogin(application, session, server)
    }
  }

  private static func tryAll(
    _ indicator: ActivityIndicator, _ session: HTTPSessionManager, _ spinner: Spinner, _ bar: ProgressBar,
    _ downloader: Picture.Pictures, _ picture: Picture, _ banner: NetworkBanner, _ button: RefreshButton,
    _ list: ListView<Picture>, rounds: () -> Int
  ) async throws {
    expect("the main actor runs in GLib's main context", g_main_context_is_owner(nil) != 0)

    for widget in [spinner, bar, picture, banner, button] {
      let hasName = unsafe gtk_test_accessible_has_property(
        OpaquePointer(widget.pointer), GTK_ACCESSIBLE_PROPERTY_LABEL)
      expect("a \(type(of: widget)) has a name for assistive technology", hasName != 0)
    }

    spinner.follow(indicator)
    expect("a spinner stands still", !spinner.isTurning)
    let began = ContinuousClock.now
    let request = indicator.begin("slow")
    try await expect("it turns", eventually: { spinner.isTurning })
    expect("after the delay of a second", ContinuousClock.now - began >= .seconds(1))
    request.end()
    try await expect("it stands still again", eventually: { !spinner.isTurning && !spinner.isVisible })

    let task = session.dataTask("slow/red.png") { _ in }
    spinner.follow(task)
    bar.follow(task)
    expect("a suspended task turns no spinner", !spinner.isTurning)
    task.resume()
    try await expect("a task turns it", eventually: { spinner.isTurning })
    try await expect("a bar is partly filled", eventually: { 0.1...0.9 ~= bar.fraction })
    try await expect("and then full", eventually: { bar.fraction == 1 })
    try await expect("the task has ended", eventually: { !spinner.isTurning })

    expect("a picture is a placeholder", !picture.isShown)
    picture.show("blue.png")
    try await expect("it arrives", eventually: { picture.isShown })
    say("blue")
    await proceed()
    // A row is used again before its picture has come.
    picture.show("slow/red.png")
    expect("a row that is used again is empty", !picture.isShown)
    picture.show("blue.png")
    try await expect("it shows the new picture, from the cache", eventually: { picture.isShown })
    _ = try? await session.data(for: "slow/red.png")
    say("blue")
    await proceed()
    picture.show("missing.png")
    _ = try? await session.data(for: "missing.png")
    expect("a picture that does not exist stays a placeholder", !picture.isShown)
    try await expect("cancelled downloads have ended", eventually: { downloader.activeCount == 0 })

    button.refresh()
    button.refresh()
    expect("a button begins its work once", button.isRefreshing)
    try await expect("and ends with it", eventually: { !button.isRefreshing })
    expect("once", rounds() == 1)
    unsafe gtk_widget_grab_focus(button.pointer)
    say("press")
    try await expect("a press begins it", eventually: { rounds() == 2 })
    try await expect("and it ends", eventually: { !button.isRefreshing })
    say("press")
    try await expect("the keyboard's focus stays, so another press begins it again", eventually: { rounds() == 3 })
    try await expect("and it ends again", eventually: { !button.isRefreshing })

    list.count = 10_000
    try await scroll(list)
    try await expect("the downloads of rows that have gone were cancelled", eventually: { downloader.activeCount == 0 })

    expect("no banner while the network is there", banner.sentence == nil && !banner.isVisible)
    try run("pull")
    try await expect("a banner says that it is gone", eventually: { banner.isVisible })
    say("banner \(banner.sentence ?? "")")
    await proceed()
    try run("plug-in")
    try await expect("and goes when it is back", eventually: { banner.sentence == nil && !banner.isVisible })
  }
  // MARK: The login page

  /// Presses the button of a banner in a network whose portal has a login page, which the desktop's browser opens.
  private static func tryLogin(
    _ application: Application, _ session: HTTPSessionManager, _ server: String
  ) async throws {
    _ = try await session.data(for: "logout")
    var configuration = MonitorConfiguration()
    configuration.probe = try HTTPInternetProbe("\(server)portal")
    configuration.probeInterval = .milliseconds(200)
    let banner = NetworkBanner(try NetworkMonitor.start(configuration))
    application.openWindow("Login", [banner])
    try await expect("a banner says that a login is needed", eventually: { banner.isVisible })
    say("banner \(banner.sentence ?? "")")
    await proceed()
    unsafe gtk_widget_grab_focus(gtk_widget_get_last_child(banner.pointer))
    say("press")
    try await expect("its button opens the login page, and it goes with the login", eventually: { !banner.isVisible })
  }
}
