import Netwatch
import NetwatchStream

/// The steps that lead to a verdict, in words for people.
struct Explanation {
  /// The topic of a step.
  enum Topic: String {
    case name, rule, route, link, source, tunnel, medium
  }

  struct Step {
    let topic: Topic
    let text: String
    /// Whether the step shows what keeps the path from working. Default: false.
    var isFault = false
    var facts: [(name: String, value: JSONValue)] = []
  }

  /// The steps of the way to one address.
  struct Section {
    let destination: IPAddress
    let title: String
    var steps: [Step] = []
    /// The reason why the address is not reachable; nil if it is reachable.
    var failure: ReachabilityReason?
  }

  let target: String
  /// The step with the addresses of the target's name; nil if the target is not a host name.
  let resolution: Step?
  let verdict: NetworkPath.Verdict
  /// The reason why the target is not reachable; nil if it is reachable.
  let reason: ReachabilityReason?
  let sections: [Section]
  /// The links that carry nothing, if no way was found.
  let deadLinks: [Step]
  /// The explanation in one sentence.
  let summary: String
  /// The stages of the way to the internet; nil if they were not examined.
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
