/// Choices and pieces that are read from an input, so that whoever changes the input's bytes changes what happens.
///
/// Behind the end every byte is 0: an input that is cut off means something too.
struct FuzzBytes {
  private let bytes: [UInt8]
  private var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { place >= bytes.count }

  mutating func byte() -> UInt8 {
    guard place < bytes.count else { return 0 }
    defer { place += 1 }
    return bytes[place]
  }

  mutating func flag() -> Bool { byte() & 1 == 1 }

  /// A number below the limit, which is 256 at most.
  mutating func below(_ limit: Int) -> Int { Int(byte()) % limit }

  mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }

  /// Small numbers mostly, and those at the ends of their ranges.
  mutating func number() -> UInt64 {
    let byte = byte()
    switch byte {
    case 0..<240: return UInt64(byte)
    case 240: return .max
    case 241: return .max - 1
    case 242: return UInt64(Int64.max)
    case 243: return 1 << 32
    case 244: return UInt64(UInt32.max)
    default: return take(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  /// So many bytes, or as many as there are.
  mutating func take(_ count: Int) -> [UInt8] {
    let end = min(bytes.count, place + max(0, count))
    defer { place = end }
    return Array(bytes[min(place, end)..<end])
  }

  /// Bytes with their number before them: one byte, or three from 255 on.
  mutating func piece() -> [UInt8] {
    let count = byte()
    return take(count < 255 ? Int(count) : Int(byte()) << 8 | Int(byte()))
  }

  mutating func rest() -> [UInt8] { take(bytes.count - place) }
}
