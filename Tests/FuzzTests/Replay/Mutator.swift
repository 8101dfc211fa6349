import TestSupport

/// Changes inputs as fuzzers do, the same in every run of a seed.
struct Mutator {
  private let inputs: [[UInt8]]
  private let maximumBytes: Int
  private var random: SeededGenerator

  /// What formats are made of, and the ends of their numbers.
  private static let tokens: [[UInt8]] =
    [
      "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "0", "-", "e", ".", "null", "true", "\r\n", "\r\n\r\n",
      "\"id\":1,", "=",
    ]
    .map { Array($0.utf8) } + [
      [0], [0xFF], [0x7F], [0x80], [0, 0], [0xFF, 0xFF], [0xFF, 0xFF, 0xFF, 0xFF], [0x80, 0, 0, 0],
      [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], [0xC3, 0x28], [0xE2, 0x82, 0xAC], [0xED, 0xA0, 0x80],
    ]

  init(_ inputs: [[UInt8]], seed: UInt64, maximumBytes: Int) {
    self.inputs = inputs.isEmpty ? [[]] : inputs
    self.maximumBytes = maximumBytes
    random = SeededGenerator(seed: seed)
  }

  mutating func next() -> [UInt8] {
    var bytes = pick(inputs)
    for _ in 0..<Int.random(in: 1...4, using: &random) { change(&bytes) }
    return Array(bytes.prefix(maximumBytes))
  }

  private mutating func change(_ bytes: inout [UInt8]) {
    let place = Int.random(in: 0...bytes.count, using: &random)
    switch Int.random(in: 0..<9, using: &random) {
    case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1 where place < bytes.count: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
    case 2 where place < bytes.count: bytes[place] &+= UInt8.random(in: 1...4, using: &random)
    case 3 where place < bytes.count:
      bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...8, using: &random)))
    case 4: bytes.insert(UInt8.random(in: .min ... .max, using: &random), at: place)
    case 5: bytes.insert(contentsOf: pick(Self.tokens), at: place)
    case 6:
      let end = min(bytes.count, place + Int.random(in: 1...32, using: &random))
      bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
    case 7: bytes.removeSubrange(place...)
    default:
      let other = pick(inputs)
      bytes.replaceSubrange(place..., with: other[Int.random(in: 0...other.count, using: &random)...])
    }
  }

  private mutating func pick<Element>(_ choices: [Element]) -> Element {
    choices[Int.random(in: 0..<choices.count, using: &random)]
  }
}
