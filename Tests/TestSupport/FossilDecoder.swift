/// Applies patches in Fossil's delta format as an SDK does, and refuses what an SDK would refuse.
public enum FossilDecoder {
  public struct Fault: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
  }

  /// - Parameter limit: bytes that the result may have; nothing is reserved for a size that the patch declares.
  public static func apply(_ patch: [UInt8], to base: [UInt8], limit: Int = 1 << 24) throws(Fault) -> [UInt8] {
    var reader = Reader(patch)
    let size = try reader.number(before: "\n")
    guard size <= limit else { throw Fault("a result of \(size) bytes is too large") }
    var result: [UInt8] = []
    while true {
      let count = try reader.number()
      switch try reader.byte() {
      case UInt8(ascii: "@"):
        let place = try reader.number(before: ",")
        guard place <= base.count, count <= base.count - place else { throw Fault("a copy from beyond the base") }
        guard count <= size - result.count else { throw Fault("a copy beyond the result's size") }
        result += base[place..<(place + count)]
      case UInt8(ascii: ":"):
        guard count <= size - result.count else { throw Fault("an insert beyond the result's size") }
        result += try reader.bytes(count)
      case UInt8(ascii: ";"):
        guard result.count == size else { throw Fault("\(result.count) bytes, and \(size) are declared") }
        guard checksum(result) == count else { throw Fault("the checksum is wrong") }
        guard reader.isAtEnd else { throw Fault("something behind the end") }
        return result
      default: throw Fault("an unknown command")
      }
    }
  }

  /// Otherwise than the encoder does it: number by number.
  private static func checksum(_ bytes: [UInt8]) -> Int {
    let padded = bytes + Array(repeating: 0, count: (4 - bytes.count % 4) % 4)
    var sum = 0
    for start in stride(from: 0, to: padded.count, by: 4) {
      sum += padded[start..<(start + 4)].reduce(0) { $0 << 8 | Int($1) }
      sum &= 0xFFFF_FFFF
    }
    return sum
  }

  private struct Reader {
    private let patch: [UInt8]
    private var place = 0

    init(_ patch: [UInt8]) { self.patch = patch }

    var isAtEnd: Bool { place == patch.count }

    mutating func byte() throws(Fault) -> UInt8 {
      guard place < patch.count else { throw Fault("the patch ends too soon") }
      defer { place += 1 }
      return patch[place]
    }

    mutating func bytes(_ count: Int) throws(Fault) -> ArraySlice<UInt8> {
      guard count <= patch.count - place else { throw Fault("an insert beyond the patch") }
      defer { place += count }
      return patch[place..<(place + count)]
    }

    mutating func number() throws(Fault) -> Int {
      let start = place
      var value = 0
      while place < patch.count, let digit = Self.digit(patch[place]) {
        value = value << 6 | digit
        guard value <= 0xFFFF_FFFF else { throw Fault("a number beyond 32 bits") }
        place += 1
      }
      guard place > start else { throw Fault("a number is missing") }
      return value
    }

    mutating func number(before end: Character) throws(Fault) -> Int {
      let value = try number()
      guard try byte() == end.asciiValue else { throw Fault("a number that does not end as it must") }
      return value
    }

    private static func digit(_ byte: UInt8) -> Int? {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte) - 48
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(byte) - 65 + 10
      case UInt8(ascii: "_"): 36
      case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(byte) - 97 + 37
      case UInt8(ascii: "~"): 63
      default: nil
      }
    }
  }
}
