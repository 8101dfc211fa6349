/// Finds what two payloads have in common, in time and memory that grow with their size and no faster.
///
/// Most payloads differ in one place: their common beginning and end are taken first. What lies between is searched
/// with a hash that rolls over it: where its next 16 bytes are also one of the base's blocks of 16, as long a part as
/// the two have in common is copied. Blocks that only hash alike are compared in vain; a budget bounds how often, so
/// that no payload, however it is chosen, costs more than ``mostSteps``.
struct PatchSearch {
  private let base: [UInt8]
  private let target: [UInt8]
  private let isText: Bool
  private var writer: PatchWriter
  /// Where the bytes of the target begin that the patch does not have yet.
  private var written = 0
  /// Bytes that were compared.
  private(set) var steps = 0
  /// Beyond so many, the rest of the target is inserted as it is.
  let mostSteps: Int

  init(base: [UInt8], target: [UInt8], isText: Bool) {
    self.base = base
    self.target = target
    self.isText = isText
    writer = PatchWriter(target: target.count)
    mostSteps = 8 * (base.count + target.count)
  }

  mutating func run() -> [UInt8]? {
    let beginning = commonBeginning()
    let end = commonEnd(beyond: beginning)
    copy(Match(base: 0, target: 0, count: beginning))
    searchMiddle(until: target.count - end)
    if end > 0 {
      // What was copied in the middle may reach into the common end.
      let start = max(target.count - end, written)
      copy(Match(base: start - target.count + base.count, target: start, count: target.count - start))
    }
    writer.insert(target[written...])
    return writer.finish(checksum: FossilPatch.checksum(target))
  }

  // MARK: Matches

  /// Bytes that base and target have in common.
  private struct Match {
    var base: Int
    var target: Int
    var count: Int
  }

  private mutating func commonBeginning() -> Int {
    let most = min(base.count, target.count)
    var count = 0
    while count < most, base[count] == target[count] { count += 1 }
    steps += count
    return count
  }

  private mutating func commonEnd(beyond beginning: Int) -> Int {
    let most = min(base.count, target.count) - beginning
    var count = 0
    while count < most, base[base.count - 1 - count] == target[target.count - 1 - count] { count += 1 }
    steps += count
    return count
  }

  /// Has the patch copy a match, with what stands before it inserted, if that saves anything.
  ///
  /// - Returns: whether it does.
  @discardableResult
  private mutating func copy(_ match: Match) -> Bool {
    let match = isText ? wholeCharacters(of: match) : match
    guard match.count > PatchWriter.cost(ofCopying: match.count, from: match.base) else { return false }
    writer.insert(target[written..<match.target])
    writer.copy(match.count, from: match.base)
    written = match.target + match.count
    return true
  }

  /// The match without the parts of characters at its ends.
  private func wholeCharacters(of match: Match) -> Match {
    var match = match
    while match.count > 0, isInCharacter(match.target) {
      match.base += 1
      match.target += 1
      match.count -= 1
    }
    while match.count > 0, isInCharacter(match.target + match.count) { match.count -= 1 }
    return match
  }

  /// Whether a byte of the target is of a character that began before it.
  private func isInCharacter(_ place: Int) -> Bool { place < target.count && target[place] & 0xC0 == 0x80 }

  // MARK: The middle

  /// - Parameter end: where the common end of base and target begins in the target.
  private mutating func searchMiddle(until end: Int) {
    guard end - written >= BaseBlocks.size, base.count >= BaseBlocks.size else { return }
    let blocks = BaseBlocks(of: base)
    var place = written
    var nextLook = place
    var hash = RollingHash(target, at: place)
    while place + BaseBlocks.size <= end {
      if place >= nextLook {
        if steps > mostSteps || writer.isWorthless { return }
        if let match = longestMatch(at: place, hash, blocks), copy(match) {
          (place, nextLook) = (written, written)
          guard place + BaseBlocks.size <= end else { return }
          hash = RollingHash(target, at: place)
          continue
        }
        nextLook = place + stride(after: place - written)
      }
      guard place + BaseBlocks.size < target.count else { return }
      hash.roll(out: target[place], in: target[place + BaseBlocks.size])
      place += 1
    }
  }

  /// How far the next look into the table of blocks is. Where much was found in vain the payloads have little in
  /// common: fewer looks are taken then. An odd number, so that looks fall on every place of a block: of a part that
  /// both have, 256 bytes are enough to be found, and then all of it is.
  private func stride(after vain: Int) -> Int { min(15, vain / 256 * 2 + 1) }

  private mutating func longestMatch(at place: Int, _ hash: RollingHash, _ blocks: BaseBlocks) -> Match? {
    var longest: Match?
    var block = blocks.newest(hash)
    for _ in 0..<BaseBlocks.mostCandidates {
      guard let candidate = block else { break }
      if let match = match(at: place, withBlockAt: candidate * BaseBlocks.size), match.count > longest?.count ?? 0 {
        longest = match
      }
      block = blocks.before(candidate)
    }
    return longest
  }

  private mutating func match(at place: Int, withBlockAt start: Int) -> Match? {
    var count = 0
    let most = min(base.count - start, target.count - place)
    while count < most, base[start + count] == target[place + count] { count += 1 }
    steps += count + 1
    guard count >= BaseBlocks.size else { return nil }
    var before = 0
    let mostBefore = min(start, place - written)
    while before < mostBefore, base[start - before - 1] == target[place - before - 1] { before += 1 }
    steps += before
    return Match(base: start - before, target: place - before, count: count + before)
  }
}

/// The base's blocks, by their hashes. It takes less memory than the base.
private struct BaseBlocks {
  static let size = 16
  /// Blocks with the same hash that are compared. The first is the last of the base.
  static let mostCandidates = 4

  private var heads: [Int32]
  private var earlier: [Int32]
  private let mask: UInt32

  init(of base: [UInt8]) {
    let count = base.count / Self.size
    var places = 16
    while places < count { places *= 2 }
    mask = UInt32(places - 1)
    heads = Array(repeating: -1, count: places)
    earlier = Array(repeating: -1, count: count)
    for block in 0..<count {
      let place = Int(RollingHash(base, at: block * Self.size).spread & mask)
      earlier[block] = heads[place]
      heads[place] = Int32(block)
    }
  }

  func newest(_ hash: RollingHash) -> Int? { Self.block(heads[Int(hash.spread & mask)]) }

  func before(_ block: Int) -> Int? { Self.block(earlier[block]) }

  private static func block(_ number: Int32) -> Int? { number < 0 ? nil : Int(number) }
}

/// A hash of 16 bytes that moves on by one byte at a time.
private struct RollingHash {
  private var value: UInt32 = 0

  private static let factor: UInt32 = 0x0100_0193
  /// What the factor has become of the first byte when the last is added.
  private static let first = (1..<BaseBlocks.size).reduce(UInt32(1)) { power, _ in power &* factor }

  init(_ bytes: [UInt8], at place: Int) {
    for index in place..<(place + BaseBlocks.size) { value = value &* Self.factor &+ UInt32(bytes[index]) }
  }

  mutating func roll(out first: UInt8, in last: UInt8) {
    value = (value &- UInt32(first) &* Self.first) &* Self.factor &+ UInt32(last)
  }

  /// The hash with the high bits mixed into the low ones, by which a place in a table is chosen.
  var spread: UInt32 {
    let mixed = (value ^ value >> 15) &* 0x85EB_CA6B
    return mixed ^ mixed >> 13
  }
}
