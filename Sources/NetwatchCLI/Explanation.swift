import Netwatch

/// A verdict in steps that a person can read.
struct Explanation {
  /// What a step is about.
  enum Topic: String {
    case name, rule, route, link, source, tunnel, medium
  }

  /// A value of a step, for programs.
  enum Value {
    case text(String)
    case number(UInt64)
    case flag(Bool)
    case nothing
  }

  struct Step {
    let topic: Topic
    let text: String
    /// It is what keeps the path from working.
    var isFault = false
    var facts: [(name: String, value: Value)] = []
  }

  /// The way to one address.
  struct Section {
    let destination: IPAddress
    var steps: [Step] = []
    /// Nil if it can be reached.
    var failure: ReachabilityReason?
  }

  let target: String
  /// What the name of a host has led to; nil where the target is none.
  let resolution: Step?
  let verdict: NetworkPath.Verdict
  /// Why nothing can be reached; nil where something can.
  let reason: ReachabilityReason?
  let sections: [Section]
  /// One sentence.
  let summary: String

  init(_ findings: PathFindings) {
    let words = ExplanationWords(findings)
    var sections: [Section] = []
    for step in findings.steps {
      switch step {
      case .destination(let address): sections.append(Section(destination: address))
      case .outcome(let failure, let link):
        guard let last = sections.indices.last else { continue }
        sections[last].failure = failure
        if let link { sections[last].steps += words.media(of: link) }
      default:
        guard let last = sections.indices.last else { continue }
        sections[last].steps += words.steps(for: step)
      }
    }
    self.sections = sections
    target = words.target
    resolution = words.resolution
    verdict = findings.verdict
    reason = findings.verdict.isReachable ? nil : findings.failure
    summary = words.summary
  }
}
