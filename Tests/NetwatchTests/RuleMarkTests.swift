import Netwatch
import NetwatchTestSupport
import Testing

/// Which packets the rules let pass by a tunnel's table.
@Suite struct RuleMarkTests {
  struct Rules: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let rules: [RoutingRule]
    let marks: [UInt32]
  }

  static func other(_ rule: RoutingRule) -> RoutingRule {
    var rule = rule
    rule.hasOtherSelectors = true
    return rule
  }

  @Test(arguments: [
    Rules(testDescription: "standard", rules: RoutingRule.standard, marks: []),
    Rules(testDescription: "wg-quick", rules: RoutingRule.wgQuick, marks: []),
    Rules(testDescription: "an exception", rules: [.unlessMark(5, table: 52)], marks: [5]),
    Rules(testDescription: "a mark before", rules: [.mark(5), .table(52), .mark(6), .table(254)], marks: [5]),
    Rules(testDescription: "a mark to elsewhere", rules: [.mark(5, table: 77), .table(52)], marks: []),
    Rules(testDescription: "a mark that leads in", rules: [.mark(5, table: 52), .table(254)], marks: []),
    Rules(testDescription: "no rule for the table", rules: [.mark(5), .table(254)], marks: []),
    Rules(testDescription: "the zero mark", rules: [.unlessMark(0, table: 52), .mark(0), .table(52)], marks: []),
    Rules(testDescription: "a mark of one link", rules: [other(.mark(5)), .mark(6), .table(52)], marks: [6]),
    Rules(testDescription: "an exception of one link", rules: [other(.unlessMark(5, table: 52))], marks: []),
    Rules(
      testDescription: "a table for one source first", rules: [other(.table(52)), .mark(5), .table(52)], marks: [5]),
    Rules(
      testDescription: "all but defaults first", rules: [.table(52, suppressing: 0), .mark(5), .table(52)], marks: [5]),
    Rules(testDescription: "none", rules: [], marks: []),
  ])
  func `which marks lead past a table`(_ rules: Rules) {
    #expect(rules.rules.marks(passing: 52) == rules.marks)
  }
}
