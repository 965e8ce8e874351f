import CLibNetlink
import Netwatch

/// Runs classic BPF programs as the kernel does, as far as netwatch's filter needs it.
struct FilterInterpreter {
  let program: [sock_filter]

  private static let ancillary = UInt32(bitPattern: -0x1000)
  private static let nextAttribute: UInt32 = 12

  /// Returns how many bytes of the message pass. Nil if the kernel would refuse the program.
  func run(_ bytes: [UInt8]) -> UInt32? {
    var accumulator: UInt32 = 0
    var index: UInt32 = 0
    var memory = [UInt32](repeating: 0, count: 16)
    var position = 0
    while position < program.count {
      let instruction = program[position]
      let k = instruction.k
      position += 1
      switch Int(instruction.code) {
      case 0x20 where k == Self.ancillary &+ Self.nextAttribute:
        accumulator = attribute(UInt16(truncatingIfNeeded: index), in: bytes, from: Int(accumulator))
      case 0x20, 0x28, 0x30, 0x40:
        let size = instruction.code == 0x28 ? 2 : instruction.code == 0x30 ? 1 : 4
        let offset = Int(k) + (instruction.code == 0x40 ? Int(index) : 0)
        // A load beyond the end of the message ends the program with 0.
        guard offset + size <= bytes.count else { return 0 }
        accumulator = bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | UInt32($1) }
      case 0x00: accumulator = k
      case 0x60: accumulator = memory[Int(k)]
      case 0x01: index = k
      case 0x61: index = memory[Int(k)]
      case 0x02: memory[Int(k)] = accumulator
      case 0x04: accumulator &+= k
      case 0x84: accumulator = 0 &- accumulator
      case 0xa4: accumulator ^= k
      case 0x7c: accumulator = accumulator &>> index
      case 0x07: index = accumulator
      case 0x05: position += Int(k)
      case 0x15: position += Int(accumulator == k ? instruction.jt : instruction.jf)
      case 0x25: position += Int(accumulator > k ? instruction.jt : instruction.jf)
      case 0x06: return k
      default: return nil
      }
    }
    return nil
  }

  private func attribute(_ type: UInt16, in bytes: [UInt8], from start: Int) -> UInt32 {
    var offset = start
    while offset + 4 <= bytes.count {
      let length = Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
      guard length >= 4, offset + length <= bytes.count else { return 0 }
      if (UInt16(bytes[offset + 2]) | UInt16(bytes[offset + 3]) << 8) & 0x3fff == type { return UInt32(offset) }
      offset += (length + 3) & ~3
    }
    return 0
  }
}
