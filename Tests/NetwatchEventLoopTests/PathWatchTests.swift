import Foundation
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchEventLoop

@Suite(.timeLimit(.minutes(3))) struct PathWatchTests {
  /// A watch of one file, and the changes that it has reported.
  private final class Run {
    let folder: TemporaryFolder
    let loop: EventLoop
    private var watch: PathWatch?
    private var count = 0

    init(_ name: String = "resolv.conf", prepare: (TemporaryFolder) throws -> Void) throws {
      folder = try TemporaryFolder()
      loop = try EventLoop()
      try prepare(folder)
      watch = try PathWatch(of: [folder.file(name)], on: loop) { [unowned self] in
        count += 1
        loop.stop()
      }
    }

    /// Performs an action that the watch must report.
    func hears(_ location: SourceLocation = #_sourceLocation, _ action: (TemporaryFolder) throws -> Void) throws {
      try action(folder)
      try loop.runPatiently(location)
      // The same action may have caused more events.
      try drain()
    }

    /// Performs an action that the watch must not report.
    func ignores(_ location: SourceLocation = #_sourceLocation, _ action: (TemporaryFolder) throws -> Void) throws {
      count = 0
      try action(folder)
      try drain()
      #expect(count == 0, sourceLocation: location)
    }

    /// Reads everything that the kernel has queued. It is available before a timer that is already due has fired twice.
    private func drain() throws {
      var turns = 0
      loop.onTurnEnd = { [unowned self] in
        turns += 1
        if turns > 3 { loop.stop() } else { loop.schedule(at: .zero) {} }
      }
      loop.schedule(at: .zero) {}
      repeat { try loop.runPatiently() } while turns <= 3
      loop.onTurnEnd = nil
    }
  }

  @Test func `a file that is written in place`() throws {
    let run = try Run { try $0.put("nameserver 192.0.2.1\n", to: "resolv.conf") }
    for _ in 0..<3 { try run.hears { try $0.put("nameserver 192.0.2.2\n", to: "resolv.conf") } }
  }

  @Test func `a file that another one is put over`() throws {
    let run = try Run { try $0.put("nameserver 192.0.2.1\n", to: "resolv.conf") }
    for _ in 0..<3 {
      try run.ignores { try $0.put("nameserver 192.0.2.2\n", to: "resolv.conf.new") }
      try run.hears { try $0.rename("resolv.conf.new", to: "resolv.conf") }
    }
    try run.hears { try $0.put("nameserver 192.0.2.3\n", to: "resolv.conf") }
  }

  @Test func `a file that goes and comes`() throws {
    let run = try Run { _ in }
    for _ in 0..<3 {
      try run.hears { try $0.put("nameserver 192.0.2.1\n", to: "resolv.conf") }
      try run.hears { try $0.remove("resolv.conf") }
    }
  }

  @Test func `the file behind a link is written, replaced, removed and made again`() throws {
    let run = try Run {
      try $0.makeFolder("run")
      try $0.put("nameserver 192.0.2.1\n", to: "run/stub")
      try $0.link("resolv.conf", to: "run/stub")
    }
    for _ in 0..<3 {
      try run.hears { try $0.put("nameserver 192.0.2.2\n", to: "run/stub") }
      try run.ignores { try $0.put("nameserver 192.0.2.2\n", to: "run/new") }
      try run.hears { try $0.rename("run/new", to: "run/stub") }
      try run.hears { try $0.remove("run/stub") }
      try run.hears { try $0.put("nameserver 192.0.2.3\n", to: "run/stub") }
    }
  }

  @Test func `a link that is led elsewhere`() throws {
    let run = try Run {
      for name in ["one", "two"] {
        try $0.makeFolder(name)
        try $0.put("nameserver 192.0.2.1\n", to: "\(name)/resolv.conf")
      }
      try $0.link("resolv.conf", to: $0.file("one/resolv.conf"))
    }
    for (new, old) in [("two", "one"), ("one", "two"), ("two", "one")] {
      try run.hears {
        try $0.link("new", to: "\(new)/resolv.conf")
        try $0.rename("new", to: "resolv.conf")
      }
      try run.hears { try $0.put("nameserver 192.0.2.2\n", to: "\(new)/resolv.conf") }
      // The place where the link led before does not matter any more.
      #expect(try run.folder.isWatched(new) && !run.folder.isWatched(old))
      try run.ignores { try $0.put("nameserver 192.0.2.2\n", to: "\(old)/resolv.conf") }
    }
  }

  @Test func `a link to a link`() throws {
    let run = try Run {
      try $0.put("nameserver 192.0.2.1\n", to: "file")
      try $0.makeFolder("middle")
      try $0.link("middle/link", to: "../file")
      try $0.link("resolv.conf", to: "middle/link")
    }
    try run.hears { try $0.put("nameserver 192.0.2.2\n", to: "file") }
    try run.hears {
      try $0.put("nameserver 192.0.2.3\n", to: "other")
      try $0.remove("middle/link")
      try $0.link("middle/link", to: "../other")
    }
    try run.hears { try $0.put("nameserver 192.0.2.4\n", to: "other") }
  }

  @Test func `links in a circle lead nowhere, until they do`() throws {
    let run = try Run {
      try $0.link("a", to: "resolv.conf")
      try $0.link("resolv.conf", to: "a")
    }
    try run.hears { try $0.remove("a") }
    try run.hears { try $0.put("nameserver 192.0.2.1\n", to: "a") }
  }

  @Test func `a folder that comes later, goes, and comes back`() throws {
    let run = try Run { try $0.link("resolv.conf", to: "run/systemd/resolve/stub") }
    for _ in 0..<3 {
      try run.hears { try $0.makeFolder("run/systemd/resolve") }
      try run.hears { try $0.put("nameserver 192.0.2.1\n", to: "run/systemd/resolve/stub") }
      try run.hears { try $0.remove("run") }
    }
  }

  @Test func `other files of the folder do not matter`() throws {
    let run = try Run { try $0.put("nameserver 192.0.2.1\n", to: "resolv.conf") }
    for name in ["resolv.conf~", "hosts", "a", ".resolv.conf.swp"] {
      try run.ignores { try $0.put("x", to: name) }
      try run.ignores { try $0.remove(name) }
    }
  }

  @Test func `nothing is heard of a watch that is gone`() throws {
    let folder = try TemporaryFolder()
    let loop = try EventLoop()
    var watch: PathWatch? = try PathWatch(of: [folder.file("a")], on: loop) {
      Issue.record("told")
    }
    try folder.write("", to: "a")
    withExtendedLifetime(watch) {}
    watch = nil
    let other = try PathWatch(of: [folder.file("a")], on: loop) { loop.stop() }
    try folder.write("x", to: "a")
    try loop.runPatiently()
    withExtendedLifetime(other) {}
  }
}

extension TemporaryFolder {
  /// Writes a file in place, by a program that has ended when this method returns.
  ///
  /// If this process opened the file, a child that another test forks at this moment could also have it open. The child
  /// closes the file only when it executes its program, and the watch would report that.
  fileprivate func put(_ text: String, to name: String) throws {
    if let folder = name.range(of: "/", options: .backwards) { try makeFolder(String(name[..<folder.lowerBound])) }
    let shell = try ChildProcess.spawn(
      "/bin/sh", ["-c", #"printf %s "$1" > "$2""#, "sh", text, file(name)], descriptors: [])
    #expect(ChildProcess.waitForEnd(of: shell) == .exited(0))
  }

  /// Returns whether this process has an inotify watch on the file.
  fileprivate func isWatched(_ name: String) throws -> Bool {
    let attributes = try FileManager.default.attributesOfItem(atPath: file(name))
    let inode = String((attributes[.systemFileNumber] as? Int) ?? 0, radix: 16)
    let tables = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo")
    return tables.contains { number in
      let table = (try? String(contentsOfFile: "/proc/self/fdinfo/\(number)", encoding: .utf8)) ?? ""
      return table.split(separator: "\n").contains { $0.hasPrefix("inotify ") && $0.contains(" ino:\(inode) ") }
    }
  }
}
