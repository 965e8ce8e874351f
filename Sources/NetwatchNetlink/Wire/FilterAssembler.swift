import CLibNetlink
import Glibc

/// Classic BPF with labels, so that nobody counts instructions.
///
/// Conditional jumps reach 255 instructions ahead at most; each is written as a short hop and an unconditional jump, which
/// has no such limit.
struct FilterAssembler<Label: Hashable> {
  private var instructions: [sock_filter] = []
  private var marks: [Label: Int] = [:]
  private var jumps: [(position: Int, label: Label)] = []

  mutating func load(word offset: UInt32) { append(Code.loadWord, offset) }
  mutating func load(half offset: UInt32) { append(Code.loadHalf, offset) }
  mutating func load(byte offset: UInt32) { append(Code.loadByte, offset) }
  /// The word at the index register plus `offset`.
  mutating func load(indirectWord offset: UInt32) { append(Code.loadIndirectWord, offset) }
  mutating func load(_ value: UInt32) { append(Code.loadImmediate, value) }
  /// One of the sixteen words of scratch memory, as the next two use them.
  mutating func load(memory word: UInt32) { append(Code.loadMemory, word) }
  mutating func setIndex(_ value: UInt32) { append(Code.loadIndexImmediate, value) }
  mutating func loadIndex(memory word: UInt32) { append(Code.loadIndexMemory, word) }
  mutating func store(memory word: UInt32) { append(Code.store, word) }
  mutating func add(_ value: UInt32) { append(Code.add, value) }
  mutating func negate() { append(Code.negate, 0) }
  mutating func exclusiveOr(_ value: UInt32) { append(Code.exclusiveOr, value) }
  mutating func shiftRightByIndex() { append(Code.shiftRightByIndex, 0) }
  mutating func copyToIndex() { append(Code.copyToIndex, 0) }
  mutating func finish(accepting length: UInt32) { append(Code.finish, length) }

  mutating func mark(_ label: Label) { marks[label] = instructions.count }

  mutating func go(to label: Label) {
    jumps.append((instructions.count, label))
    append(Code.jump, 0)
  }

  mutating func jump(ifEqual value: UInt32, to label: Label, else other: Label? = nil) {
    branch(Code.jumpIfEqual, value, label, other)
  }

  mutating func jump(ifGreater value: UInt32, to label: Label, else other: Label? = nil) {
    branch(Code.jumpIfGreater, value, label, other)
  }

  private mutating func branch(_ code: UInt16, _ value: UInt32, _ label: Label, _ other: Label?) {
    instructions.append(sock_filter(code: code, jt: 0, jf: 1, k: value))
    go(to: label)
    if let other { go(to: other) }
  }

  private mutating func append(_ code: UInt16, _ value: UInt32) {
    instructions.append(sock_filter(code: code, jt: 0, jf: 0, k: value))
  }

  /// The program. A label that was never marked leads to the next instruction.
  func assemble() -> [sock_filter] {
    var program = instructions
    for (position, label) in jumps {
      program[position].k = UInt32((marks[label] ?? position + 1) - position - 1)
    }
    return program
  }
}

/// Operations of <linux/bpf_common.h>, with their modes and sizes.
private enum Code {
  static let loadWord: UInt16 = 0x20
  static let loadHalf: UInt16 = 0x28
  static let loadByte: UInt16 = 0x30
  static let loadIndirectWord: UInt16 = 0x40
  static let loadImmediate: UInt16 = 0x00
  static let loadMemory: UInt16 = 0x60
  static let loadIndexImmediate: UInt16 = 0x01
  static let loadIndexMemory: UInt16 = 0x61
  static let store: UInt16 = 0x02
  static let add: UInt16 = 0x04
  static let negate: UInt16 = 0x84
  static let exclusiveOr: UInt16 = 0xa4
  static let shiftRightByIndex: UInt16 = 0x7c
  static let jump: UInt16 = 0x05
  static let jumpIfEqual: UInt16 = 0x15
  static let jumpIfGreater: UInt16 = 0x25
  static let copyToIndex: UInt16 = 0x07
  static let finish: UInt16 = 0x06
}
