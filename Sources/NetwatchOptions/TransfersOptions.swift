import Netwatch

/// The options of `netwatch transfers`.
package struct TransfersOptions: Sendable {
  /// What is done with transfers.
  package enum Action: String, CaseIterable, Sendable {
    case pause, resume, cancel, clear
  }

  /// Nil for the list.
  package var action: Action?
  /// The numbers in the list.
  package var ids: [String] = []
  package var isJSON = false

  package init() {}

  @OptionTable<TransfersOptions> package static var options: [Option<TransfersOptions>] {
    Option.operand(
      "action", of: [.transfers], help: "pause, resume, cancel, or clear what has ended. Without it, list all.",
      by: { word throws(PlainError) in try Action.named(word) }
    ) { $0.action = $1 }
    .suggesting(.words { Action.names })
    Option.operand(
      "id", of: [.transfers], help: "The number in the list. May be repeated. Without it, all; cancel needs one.",
      by: { id throws(PlainError) in id }
    ) { $0.ids.append($1) }
    .repeating()
    Option.flag("--json", of: [.transfers], help: "Print a line of JSON for each transfer.") { $0.isJSON = $1 }
  }
}
