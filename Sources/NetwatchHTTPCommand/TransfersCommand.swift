import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop
import NetwatchHTTP
import NetwatchLibC
import NetwatchOptions

/// `netwatch transfers`: shows the transfers of all background sessions of the user, and changes them.
struct TransfersCommand {
  private let action: TransfersOptions.Action?
  private let ids: [String]
  private let isJSON: Bool

  init(_ options: TransfersOptions) { (action, ids, isJSON) = (options.action, options.ids, options.isJSON) }

  func run() throws -> ProcessEnding {
    SignalSource.discard([SIGPIPE])
    let listing = try TransferSpool.all()
    for (identifier, error) in listing.refused.sorted(by: { $0.key < $1.key }) {
      StandardError.warn("the transfers of '\(identifier)' are left alone: \(error.message)".sanitizedForTerminal)
    }
    let all = listing.spools.map { (spool: $0, content: $0.content()) }
    for path in all.flatMap(\.content.damaged) {
      StandardError.warn("'\(path.sanitizedForTerminal)' is damaged, and left alone")
    }
    let rows = all.flatMap { spool, content in content.records.map { Row(spool: spool, record: $0) } }
    guard let action else {
      try print(rows)
      return .exited(listing.refused.isEmpty ? 0 : 1)
    }
    if isJSON { throw UsageError("--json belongs to the list; leave out \(action.rawValue).") }
    if action == .cancel, ids.isEmpty { throw UsageError("Name the transfers to cancel by their numbers.") }
    return try change(action, rows)
  }

  private func change(_ action: TransfersOptions.Action, _ rows: [Row]) throws -> ProcessEnding {
    var isMissing = false
    var hasChanged = false
    var chosen: [Row] = []
    for id in ids {
      let found = rows.filter { $0.name == id || $0.record.id == id }
      if found.isEmpty {
        StandardError.warn("there is no transfer '\(id.sanitizedForTerminal)'; netwatch transfers lists them")
        isMissing = true
      }
      chosen += found
    }
    // The ends of other programs' sessions are for them to see.
    if ids.isEmpty { chosen = rows.filter { action != .clear || $0.spool.identifier == LaterCommand.session } }
    for row in chosen {
      let isOver = row.record.phase == .ended
      switch action {
      case .pause where !isOver: try row.spool.change(row.record.id) { $0.pause() }
      case .resume where !isOver: try row.spool.change(row.record.id) { $0.resume() }
      case .cancel where !isOver: try row.spool.change(row.record.id) { $0.isCancelled = true }
      case .clear where isOver: try row.spool.remove(row.record.id)
      default:
        guard !ids.isEmpty else { continue }
        StandardError.warn("transfer \(row.name) has \(isOver ? "ended" : "not ended; cancel it first")")
        isMissing = true
        continue
      }
      hasChanged = true
    }
    if hasChanged, action == .resume || action == .cancel { try TransferWorker.start() }
    return .exited(isMissing ? 1 : 0)
  }

  // MARK: The list

  private func print(_ rows: [Row]) throws {
    let surroundings = TransferWorker.surroundings
    var text = ""
    if isJSON {
      for row in rows { text += try row.json(surroundings) + "\n" }
    } else if rows.isEmpty {
      text = "There are no transfers.\n"
    } else {
      let columns = isatty(STDOUT_FILENO) == 1 ? FileDescriptor.columns(of: STDOUT_FILENO) ?? 80 : 80
      let widths = (rows.map(\.name.count).max() ?? 0, min(24, rows.map(\.title.count).max() ?? 0))
      for row in rows { text += row.text(surroundings, widths: widths, columns: columns) + "\n" }
    }
    do throws(SystemError) {
      try unsafe FileDescriptor.writeAll([UInt8](text.utf8).span.bytes, to: STDOUT_FILENO)
    } catch {
      if error.code != EPIPE { throw error }
    }
  }

  /// A transfer in the list.
  private struct Row {
    let spool: TransferSpool
    let record: TransferRecord

    /// The number, behind the session's identifier unless it is that of the command line.
    var name: String {
      spool.identifier == LaterCommand.session ? "\(record.number)" : "\(spool.identifier)/\(record.number)"
    }

    /// The name of the file.
    var title: String {
      let name = record.label ?? record.file.split(separator: "/").last.map(String.init) ?? ""
      return name.sanitizedForTerminal
    }

    func text(_ surroundings: TransferQueue.Surroundings?, widths: (name: Int, title: Int), columns: Int) -> String {
      let shortTitle = title.count > widths.title ? title.prefix(widths.title - 1) + "…" : title[...]
      let head = "\(name.padded(to: widths.name, atStart: true))  \(String(shortTitle).padded(to: widths.title))  "
      switch record.standing(surroundings, in: spool) {
      case .running(let progress):
        let isUpload = record.kind == .upload
        let line = ProgressLine(
          received: isUpload ? progress.sent : progress.received,
          total: isUpload ? progress.totalToSend : progress.totalToReceive)
        return head + line.text(columns: max(20, columns - head.count))
      case let standing: return head + standing.sentence.sanitizedForTerminal
      }
    }

    func json(_ surroundings: TransferQueue.Surroundings?) throws -> String {
      let standing = record.standing(surroundings, in: spool)
      var line = Line(
        session: spool.identifier, id: record.id, kind: record.kind.rawValue, url: record.url, file: record.file,
        state: standing.word)
      line.reason = standing.reason
      line.error = record.end?.kind
      line.status = record.end?.response?.status.code
      if case .running(let progress) = standing {
        (line.received, line.total_to_receive) = (progress.received, progress.totalToReceive)
        (line.sent, line.total_to_send) = (progress.sent, progress.totalToSend)
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(line), as: UTF8.self)
    }
  }

  /// A transfer as a line of JSON, version 1 of contrib/schemas/transfers.schema.json.
  private struct Line: Encodable {
    let v = 1
    let session: String
    let id: String
    let kind: String
    let url: String
    let file: String
    let state: String
    var reason: String?
    var error: String?
    var status: Int?
    var received: Int64?
    var total_to_receive: Int64?
    var sent: Int64?
    var total_to_send: Int64?
  }
}

extension TransferRecord.Standing {
  /// The state in one word.
  fileprivate var word: String {
    switch self {
    case .running: "running"
    case .waiting: "waiting"
    case .paused: "paused"
    case .done: "done"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case .unknown: "unknown"
    }
  }

  /// Why it waits or has failed; nil if there is nothing to say.
  fileprivate var reason: String? {
    switch self {
    case .waiting(let reason), .failed(let reason): reason
    default: nil
    }
  }

  /// The state for people.
  fileprivate var sentence: String {
    switch self {
    case .waiting(let reason): reason
    case .failed(let reason): "failed: \(reason)"
    case .unknown: "nobody knows whether the server has acted; it is not sent again"
    default: word
    }
  }
}

extension String {
  fileprivate func padded(to width: Int, atStart: Bool = false) -> String {
    let room = String(repeating: " ", count: max(0, width - count))
    return atStart ? room + self : self + room
  }
}
