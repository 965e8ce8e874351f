import CLibNetlink
import NetwatchLibC

/// Builds classic BPF programs with labels, so that no code has to count instructions.
///
/// Conditional jumps reach at most 255 instructions ahead. So each one is written as a short jump and an unconditional jump,
/// which has no such limit.
struct FilterAssembler<Label: Hashable> {
  private var instructions: [sock_filter] = []
  private var marks: [Label: Int] = [:]
  private var jumps: [(position: Int, label: Label)] = []

  mutating func load(word offset: UInt32) { append(BPF_LD | BPF_W | BPF_ABS, offset) }
  mutating func load(half offset: UInt32) { append(BPF_LD | BPF_H | BPF_ABS, offset) }
  mutating func load(byte offset: UInt32) { append(BPF_LD | BPF_B | BPF_ABS, offset) }
  /// Loads the word at the index register plus `offset`.
  mutating func load(indirectWord offset: UInt32) { append(BPF_LD | BPF_W | BPF_IND, offset) }
  mutating func load(_ value: UInt32) { append(BPF_LD | BPF_IMM, value) }
  /// Loads one of the sixteen words of scratch memory. The methods below with `memory` use the same words.
  mutating func load(memory word: UInt32) { append(BPF_LD | BPF_MEM, word) }
  mutating func setIndex(_ value: UInt32) { append(BPF_LDX | BPF_IMM, value) }
  mutating func loadIndex(memory word: UInt32) { append(BPF_LDX | BPF_MEM, word) }
  mutating func store(memory word: UInt32) { append(BPF_ST, word) }
  mutating func add(_ value: UInt32) { append(BPF_ALU | BPF_ADD | BPF_K, value) }
  mutating func negate() { append(BPF_ALU | BPF_NEG, 0) }
  mutating func exclusiveOr(_ value: UInt32) { append(BPF_ALU | BPF_XOR | BPF_K, value) }
  mutating func shiftRightByIndex() { append(BPF_ALU | BPF_RSH | BPF_X, 0) }
  mutating func copyToIndex() { append(BPF_MISC | BPF_TAX, 0) }
  mutating func finish(accepting length: UInt32) { append(BPF_RET | BPF_K, length) }

  mutating func mark(_ label: Label) { marks[label] = instructions.count }

  mutating func go(to label: Label) {
    jumps.append((instructions.count, label))
    append(BPF_JMP | BPF_JA, 0)
  }

  mutating func jump(ifEqual value: UInt32, to label: Label, else other: Label? = nil) {
    branch(BPF_JMP | BPF_JEQ | BPF_K, value, label, other)
  }

  mutating func jump(ifGreater value: UInt32, to label: Label, else other: Label? = nil) {
    branch(BPF_JMP | BPF_JGT | BPF_K, value, label, other)
  }

  private mutating func branch(_ code: CInt, _ value: UInt32, _ label: Label, _ other: Label?) {
    instructions.append(sock_filter(code: UInt16(code), jt: 0, jf: 1, k: value))
    go(to: label)
    if let other { go(to: other) }
  }

  private mutating func append(_ code: CInt, _ value: UInt32) {
    instructions.append(sock_filter(code: UInt16(code), jt: 0, jf: 0, k: value))
  }

  /// Returns the program. A jump to a label that was never marked leads to the next instruction.
  func assemble() -> [sock_filter] {
    var program = instructions
    for (position, label) in jumps {
      program[position].k = UInt32((marks[label] ?? position + 1) - position - 1)
    }
    return program
  }
}
