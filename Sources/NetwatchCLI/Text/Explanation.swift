import Netwatch
import NetwatchStream

/// A verdict in steps that a person can read.
struct Explanation {
  /// What a step is about.
  enum Topic: String {
    case name, rule, route, link, source, tunnel, medium
  }

  struct Step {
    let topic: Topic
    let text: String
    /// It is what keeps the path from working.
    var isFault = false
    var facts: [(name: String, value: JSONValue)] = []
  }

  /// The way to one address.
  struct Section {
    let destination: IPAddress
    let title: String
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
  /// Where no way was found: links that carry nothing, and so are on none.
  let deadLinks: [Step]
  /// One sentence.
  let summary: String
  /// Which stage of the way to the internet fails.
  let stages: NetworkStages?

  init(_ findings: PathFindings, _ stages: NetworkStages? = nil) {
    self.stages = stages
    let words = ExplanationWords(findings)
    var sections: [Section] = []
    for step in findings.steps {
      if case .destination(let address) = step {
        sections.append(Section(destination: address, title: words.title(of: address)))
      }
      guard let last = sections.indices.last else { continue }
      sections[last].steps += words.steps(for: step, to: sections[last].destination)
      if case .outcome(let failure, let link) = step {
        sections[last].failure = failure
        if let link { sections[last].steps += words.media(of: link) }
      }
    }
    self.sections = sections
    target = words.target
    resolution = words.resolution
    verdict = findings.verdict
    reason = findings.verdict.isReachable ? nil : findings.failure
    deadLinks = words.deadLinks
    summary = words.summary
  }
}
