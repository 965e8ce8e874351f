import Glibc
import NetwatchTestSupport
import Testing

/// Tests of the completion scripts in real shells.
@Suite struct CompletionTests {
  /// Pairs of what is typed and what the line becomes after the Tab key.
  static let lines = [
    ("netwatch expl", "netwatch explain"), ("netwatch --no-s", "netwatch --no-service"),
    ("netwatch --format way", "netwatch --format waybar"), ("netwatch --format=way", "netwatch --format=waybar"),
    ("netwatch -i l", "netwatch -i lo"), ("netwatch wait --for stage=ga", "netwatch wait --for stage=gateway"),
    ("netwatch status --netw", "netwatch status --network-id"), ("netwatch snippet po", "netwatch snippet polybar"),
    ("netwatch get --path", "netwatch get --path-loss-grace"), ("netwatch log --out", "netwatch log --outages"),
    ("netwatch top --sort n", "netwatch top --sort name"),
    ("netwatch replay /etc/hostn", "netwatch replay /etc/hostname"),
    ("netwatch test-hook --status ww", "netwatch test-hook --status wwan"),
    ("netwatch run netwatch-comp", "netwatch run netwatch-completed"),
    ("netwatch -f --activity tcp --activity-ignore netwatch-comp", "--activity-ignore netwatch-completed"),
  ]

  /// The completion scripts as files, and a program whose name can be completed.
  private struct Scripts {
    let folder: TemporaryFolder

    init() throws {
      folder = try TemporaryFolder()
      for shell in ["bash", "zsh", "fish"] {
        let result = try ChildProcess.run([Programs.netwatch, "--generate-completion-script", shell])
        #expect(result.ending == .exited(0))
        let text = result.output.map { $0 + "\n" }.joined()
        for placeholder in ["NAME", "STAGE", "=ID"] {
          #expect(
            !text.contains("=\(placeholder) ") && !text.contains("\(placeholder))"), "\(shell) offers \(placeholder)")
        }
        try folder.write(text, to: "\(shell)/_netwatch")
      }
      try folder.write("#!/bin/sh\n", to: "programs/netwatch-completed")
      _ = unsafe chmod(folder.file("programs/netwatch-completed"), 0o755)
    }

    /// Types each line and the Tab key into a shell, and waits until the line is completed.
    func complete(with shell: [String], after setting: String) throws {
      let terminal = try PseudoTerminal(shell, rows: 40, columns: 160)
      terminal.type("PATH=\(folder.file("programs")):$PATH; \(setting); echo set''tled\r")
      try terminal.wait { $0.text.contains("settled\n") || $0.text.contains("settled ") }
      for (typed, completed) in CompletionTests.lines {
        terminal.type("clear\r")
        try terminal.wait {
          !$0.text.contains("clear") && !$0.text.contains("settled") && !$0.text.contains("netwatch")
        }
        terminal.type("\(typed)\t")
        try terminal.wait { $0.text.contains(completed) }
        // Ctrl-U clears the line.
        terminal.type("\u{15}")
      }
      terminal.hangUp()
    }
  }

  @Test func `bash`() throws {
    let scripts = try Scripts()
    try scripts.complete(
      with: ["bash", "--norc", "--noprofile", "-i"], after: ". \(scripts.folder.file("bash/_netwatch"))")
  }

  @Test func `zsh`() throws {
    let scripts = try Scripts()
    let folder = scripts.folder.file("zsh")
    try scripts.complete(
      with: ["zsh", "-f", "-i"],
      after: "fpath=(\(folder) $fpath); autoload -Uz compinit; compinit -u -d \(folder)/dump; setopt nobeep")
  }

  @Test func `fish`() throws {
    let scripts = try Scripts()
    var program =
      "set -gx PATH \(scripts.folder.file("programs")) $PATH; source \(scripts.folder.file("fish/_netwatch"))\n"
    for (typed, _) in Self.lines { program += "echo (complete -C '\(typed)' | string split -f 1 \\t)\n" }
    let result = try ChildProcess.run(["fish", "--no-config", "-c", program])
    #expect(result.error == "")
    for ((typed, completed), words) in zip(Self.lines, result.output) {
      let word = completed.split(separator: " ").last.map(String.init) ?? ""
      #expect(words.split(separator: " ").contains { $0 == word }, "\(typed) leads to \(words)")
    }
    #expect(result.output.count == Self.lines.count)
  }
}
