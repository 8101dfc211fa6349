import Glibc

// What the dialects read bytes with. Everything is bounded by the buffer, and nothing allocates or counts references:
// a delivery is to cost the generator tens of nanoseconds.

extension UnsafeRawBufferPointer {
  /// No content and no control line of a peer is longer: what claims to be is an error of the peer or of ours.
  static var longestMessage: Int { 16 << 20 }

  /// `count` bytes from `start` on; the caller has made sure that they are there.
  @inline(__always)
  func part(_ start: Int, _ count: Int) -> UnsafeRawBufferPointer {
    guard let base = baseAddress else { return unsafe self }
    return unsafe UnsafeRawBufferPointer(start: base + start, count: count)
  }

  /// Place of the next line feed from `start` on.
  @inline(__always)
  func lineFeed(from start: Int) -> Int? {
    guard let base = baseAddress, start < count else { return nil }
    guard let found = unsafe memchr(base + start, 0x0A, count - start) else { return nil }
    return unsafe UnsafeRawPointer(found) - base
  }

  /// Place of the next such byte from `start` on.
  @inline(__always)
  func place(of byte: UInt8, from start: Int) -> Int? {
    guard let base = baseAddress, start < count else { return nil }
    guard let found = unsafe memchr(base + start, Int32(byte), count - start) else { return nil }
    return unsafe UnsafeRawPointer(found) - base
  }

  /// How often the text stands in here, without overlapping itself; 0 of an empty text.
  func count(of text: [UInt8]) -> Int {
    guard let first = text.first, let base = baseAddress else { return 0 }
    var (place, found) = (0, 0)
    while let hit = unsafe self.place(of: first, from: place), count - hit >= text.count {
      let isThere = unsafe memcmp(base + hit, text, text.count) == 0
      place = isThere ? hit + text.count : hit + 1
      if isThere { found += 1 }
    }
    return found
  }

  /// Eight bytes as they stand, for comparing with ``StaticString/word``. The caller has made sure that they are there.
  @inline(__always)
  func word(at place: Int) -> UInt64 {
    guard let base = baseAddress else { return 0 }
    return unsafe (base + place).loadUnaligned(as: UInt64.self)
  }

  /// Four bytes as they stand, for comparing with ``StaticString/halfWord``.
  @inline(__always)
  func halfWord(at place: Int) -> UInt32 {
    guard let base = baseAddress else { return 0 }
    return unsafe (base + place).loadUnaligned(as: UInt32.self)
  }

  /// The decimal number whose digits stand from `place` to before `end`; nil where there are other characters, none, or
  /// more than nine.
  @inline(__always)
  func decimal(_ place: Int, before end: Int) -> Int? {
    let length = end &- place
    guard length > 0, length <= 9, place >= 0, end <= count else { return nil }
    var value = 0
    for position in place..<end {
      let digit = unsafe Int(self[position]) &- 0x30
      guard digit >= 0, digit <= 9 else { return nil }
      value = value &* 10 &+ digit
    }
    return value
  }

  /// Whether the text stands at `place`; false where the buffer ends before.
  func hasText(_ text: StaticString, at place: Int) -> Bool {
    guard let base = baseAddress, place >= 0, count - place >= text.utf8CodeUnitCount else { return false }
    return unsafe memcmp(base + place, text.utf8Start, text.utf8CodeUnitCount) == 0
  }

  /// For a sentence to a person: at most 200 characters, printable ASCII alone.
  func quoted(_ start: Int, before end: Int) -> String {
    let stop = Swift.min(end, count, start + 200)
    guard start >= 0, start < stop else { return "" }
    var text = ""
    for place in start..<stop {
      let byte = unsafe self[place]
      text.unicodeScalars.append(byte >= 0x20 && byte < 0x7F ? Unicode.Scalar(byte) : "?")
    }
    return text
  }
}

extension StaticString {
  /// The first eight characters, as ``UnsafeRawBufferPointer/word(at:)`` reads them.
  @inline(__always)
  var word: UInt64 { unsafe UnsafeRawPointer(utf8Start).loadUnaligned(as: UInt64.self) }

  /// The first four characters, as ``UnsafeRawBufferPointer/halfWord(at:)`` reads them.
  @inline(__always)
  var halfWord: UInt32 { unsafe UnsafeRawPointer(utf8Start).loadUnaligned(as: UInt32.self) }
}

extension Outgoing {
  mutating func append(byte: UInt8) { bytes.append(byte) }

  /// Appends a number's two bytes, the higher first.
  mutating func append(bigEndian value: UInt16) {
    bytes.append(UInt8(truncatingIfNeeded: value >> 8))
    bytes.append(UInt8(truncatingIfNeeded: value))
  }

  /// Appends a number as ASCII digits.
  mutating func append(decimal value: Int) { append(String(value)) }
}

extension Target {
  /// What follows host and port in the address, for the role; `instead` where there is nothing.
  func path(_ role: Role, instead: String = "/") -> String {
    let address = role == .publisher ? publishURL ?? url : url
    guard let scheme = address.firstRange(of: "://") else { return instead }
    guard let slash = address[scheme.upperBound...].firstIndex(of: "/") else { return instead }
    return String(address[slash...])
  }

  /// Host and port of the address, for the role.
  func authority(_ role: Role) -> String {
    let address = role == .publisher ? publishURL ?? url : url
    guard let scheme = address.firstRange(of: "://") else { return address }
    let rest = address[scheme.upperBound...]
    return String(rest.prefix { $0 != "/" && $0 != "?" })
  }
}

extension Scenario {
  /// Throws where the name of a group or namespace has a character that the peer's channel names cannot have.
  func requireChannelNames(
    for peer: String, _ isAllowed: (Unicode.Scalar) -> Bool
  ) throws(BenchError) {
    for group in groups {
      guard (group.name + group.namespace).unicodeScalars.allSatisfy(isAllowed) else {
        throw BenchError(
          "\(peer) cannot have a channel named after the group \"\(group.name)\"; name it with letters, digits and - only."
        )
      }
    }
  }
}
