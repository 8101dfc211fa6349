#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The name of a channel: `namespace:rest`, `rest`, `rest#42,43` (limited to those users) or `$rest` (needs a
/// subscription token).
///
/// Names are compared byte by byte. Swift's `String` compares by canonical equivalence, under which a precomposed and
/// a decomposed "é" are one key: somebody allowed on one spelling would then read what is published on the other.
public struct ChannelName: Sendable, CustomStringConvertible {
  /// Why a name was refused. The description is a sentence for the person who sent it.
  public enum Invalid: Error, Equatable, CustomStringConvertible {
    case empty
    case tooLong(bytes: Int, limit: Int)
    case controlCharacter

    public var description: String {
      switch self {
      case .empty: "the channel name is empty; name a channel, for example \"news\""
      case .tooLong(let bytes, let limit):
        "the channel name has \(bytes) bytes of UTF-8; at most \(limit) are allowed"
      case .controlCharacter:
        "the channel name holds a control character; use letters, digits and punctuation only"
      }
    }
  }

  /// The usual limit of a name, in bytes of UTF-8 (protocol facts, "Usual limits").
  public static let defaultMaximumLength = 255

  /// The byte that ends a topic on the tap, where services listen to channels. No name can hold it, so that a tap of
  /// `news` never matches `newsroom`.
  public static let topicTerminator: UInt8 = 0

  public let string: String

  /// - Parameter limit: the longest name allowed, in bytes of UTF-8.
  public init(_ string: String, limit: Int = ChannelName.defaultMaximumLength) throws(Invalid) {
    var string = string
    string.makeContiguousUTF8()
    let length = string.utf8.count
    if length == 0 { throw .empty }
    if length > limit { throw .tooLong(bytes: length, limit: limit) }
    let holdsControl = string.withUTF8 { UnsafeRawBufferPointer($0).holdsControl }
    if holdsControl { throw .controlCharacter }
    self.string = string
  }

  /// A name put together of two parts.
  ///
  /// - Parameter start: the first part, usually a namespace with its colon.
  public init(_ start: StaticString, _ rest: String) throws(Invalid) {
    let length = start.utf8CodeUnitCount + rest.utf8.count
    if length > Self.defaultMaximumLength { throw .tooLong(bytes: length, limit: Self.defaultMaximumLength) }
    try self.init(String(joining: start, rest))
  }

  /// - Parameter string: contiguous, and checked by the caller as `init(_:limit:)` would.
  init(checked string: String) { self.string = string }

  public var description: String { string }

  /// The part before the first `:`, without a leading `$`; nil where the name has no namespace.
  public var namespace: Substring? {
    let body = isPrivate ? string.dropFirst() : string[...]
    guard let colon = body.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    return body[..<colon]
  }

  /// The part after the namespace and its `:`; the whole name where it has none.
  public var rest: String {
    namespace.map { String(string.utf8.dropFirst($0.utf8.count + 1 + (isPrivate ? 1 : 0))) ?? "" } ?? string
  }

  /// True for `$…`: nobody subscribes without a subscription token.
  public var isPrivate: Bool { string.utf8.first == UInt8(ascii: "$") }

  /// The users after the last `#`, or nil where the name has no `#`: `dm:x#42,43` → `["42", "43"]`.
  public var limitedToUsers: [Substring]? {
    // Most names have no `#`, and each publish asks.
    guard contains(UInt8(ascii: "#")), let hash = string.utf8.lastIndex(of: UInt8(ascii: "#")) else { return nil }
    return string[string.utf8.index(after: hash)...]
      .split(separator: ",", omittingEmptySubsequences: false)
  }
}

extension ChannelName {
  private func contains(_ byte: UInt8) -> Bool {
    let found = unsafe string.utf8.withContiguousStorageIfAvailable { unsafe UnsafeRawBufferPointer($0).contains(byte) }
    return found ?? string.utf8.contains(byte)
  }

  /// Calls `body` with the bytes of ``namespace`` in place; with nil where the name has none.
  func withNamespace<Result>(_ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
    var copy = string  // Contiguous since `init`, so `withUTF8` copies nothing.
    return copy.withUTF8 { name in
      let start = unsafe name.first == UInt8(ascii: "$") ? 1 : 0
      let rest = unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(name)[start...])
      guard let place = unsafe rest.place(of: UInt8(ascii: ":")) else { return body(nil) }
      return unsafe body(UnsafeRawBufferPointer(rebasing: rest[..<place]))
    }
  }
}

extension ChannelName: Hashable, Comparable {
  public static func == (a: ChannelName, b: ChannelName) -> Bool { a.string.hasSameBytes(as: b.string) }

  public static func < (a: ChannelName, b: ChannelName) -> Bool {
    a.string.utf8.lexicographicallyPrecedes(b.string.utf8)
  }

  public func hash(into hasher: inout Hasher) {
    string.hashBytes(into: &hasher)
  }
}

extension StringProtocol {
  /// Equality of bytes, for identifiers: see ``ChannelName`` for the attack that canonical equivalence would allow.
  public func hasSameBytes(as other: some StringProtocol) -> Bool {
    utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
  }
}

extension String {
  /// A text of two parts, in one piece of memory.
  public init(joining start: StaticString, _ rest: String) {
    let length = start.utf8CodeUnitCount + rest.utf8.count
    self = unsafe String(unsafeUninitializedCapacity: length) { buffer in
      let count = start.withUTF8Buffer { unsafe buffer.update(fromContentsOf: $0) }
      _ = unsafe buffer[count...].update(fromContentsOf: rest.utf8)
      return length
    }
  }

  /// Hashes the bytes, as ``hasSameBytes(as:)-(String)`` compares them, without counting a reference on the way.
  public func hashBytes(into hasher: inout Hasher) {
    let isDone: Void? = unsafe utf8.withContiguousStorageIfAvailable {
      unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0))
    }
    if isDone != nil { return }
    // Strings that do not stand in one piece come from Foundation on macOS only.
    var copy = self
    copy.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }

  /// As the generic one, for two whole strings, without a step per byte: channels are looked up for every message.
  public func hasSameBytes(as other: String) -> Bool {
    // Equal values are the same storage, or the same short text, which stands in the value itself.
    let (value, otherValue) = unsafe (
      unsafeBitCast(self, to: (UInt64, UInt64).self), unsafeBitCast(other, to: (UInt64, UInt64).self)
    )
    if value == otherValue { return true }
    let (mine, theirs) = (utf8, other.utf8)
    guard mine.count == theirs.count else { return false }
    let isSame = unsafe mine.withContiguousStorageIfAvailable { a in
      unsafe theirs.withContiguousStorageIfAvailable { b in
        unsafe UnsafeRawBufferPointer(a).hasSameBytes(as: UnsafeRawBufferPointer(b))
      }
    }
    // Strings that do not stand in one piece come from Foundation on macOS only.
    return (isSame ?? nil) ?? mine.elementsEqual(theirs)
  }
}

extension UnsafeRawBufferPointer {
  func contains(_ byte: UInt8) -> Bool { unsafe place(of: byte) != nil }

  /// The index at which the byte stands first; nil where it does not.
  func place(of byte: UInt8) -> Int? {
    guard let start = baseAddress, let found = unsafe memchr(start, Int32(byte), count) else { return nil }
    return unsafe UnsafeRawPointer(found) - start
  }

  /// Whether a byte is below 0x20, or 0x7F.
  var holdsControl: Bool {
    if count < 8 { return unsafe contains { $0 < 0x20 || $0 == 0x7F } }
    let ones: UInt64 = 0x0101_0101_0101_0101
    var marks: UInt64 = 0
    var index = 0
    while index < count {
      // The last word may begin within the one before.
      let word = unsafe loadUnaligned(fromByteOffset: Swift.min(index, count - 8), as: UInt64.self)
      let deletes = word ^ ones &* 0x7F
      marks |= (word &- ones &* 0x20) & ~word | (deletes &- ones) & ~deletes
      index += 8
    }
    return marks & (ones &* 0x80) != 0
  }

  /// - Parameter other: of the same length.
  func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
    return unsafe memcmp(start, otherStart, count) == 0
  }
}
