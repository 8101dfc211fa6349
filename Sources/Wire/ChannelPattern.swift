/// A pattern for whole names of channels: `*` stands for any characters or none, `?` for one, and everything else for
/// itself. So `chat:*` means all channels of a namespace. The empty pattern means every channel.
public struct ChannelPattern: Sendable, Hashable {
  /// Most bytes of a pattern: as many as a channel's name may usually have. Comparing takes the product of both lengths
  /// at worst.
  public static let maximumLength = ChannelName.defaultMaximumLength

  private let bytes: [UInt8]
  /// The bytes are how the names begin, `*` and `?` among them being characters like others.
  public let isBeginning: Bool

  private static let anything = UInt8(ascii: "*")
  private static let character = UInt8(ascii: "?")

  /// Nil where the text is longer than ``maximumLength`` bytes of UTF-8.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.maximumLength else { return nil }
    self.init(bytes: Array(text.utf8))
  }

  /// All names that begin with a text, whatever characters it has; nil where it is longer than ``maximumLength`` bytes.
  public init?(beginning text: String) {
    guard text.utf8.count <= Self.maximumLength else { return nil }
    self.init(bytes: Array(text.utf8), isBeginning: true)
  }

  /// The pattern that every channel fits.
  public static let everything = ChannelPattern(bytes: [])

  private init(bytes: [UInt8], isBeginning: Bool = false) {
    self.bytes = bytes
    self.isBeginning = isBeginning
  }

  public var text: String { String(decoding: bytes, as: UTF8.self) }

  public func matches(_ name: ChannelName) -> Bool {
    if bytes.isEmpty { return true }
    if isBeginning { return name.string.utf8.starts(with: bytes) }
    let isMatch = unsafe name.string.utf8.withContiguousStorageIfAvailable { unsafe fits(UnsafeRawBufferPointer($0)) }
    if let isMatch { return isMatch }
    // Strings that do not stand in one piece come from Foundation on macOS only.
    return unsafe Array(name.string.utf8).withUnsafeBytes { unsafe fits($0) }
  }

  /// Where the rest does not fit, the last `*` takes one character more. Those before it need no other try: what they
  /// might take beyond this, the last one can take as well.
  private func fits(_ name: UnsafeRawBufferPointer) -> Bool {
    var (place, index) = (0, 0)
    var last: (place: Int, index: Int)?
    while index < name.count {
      if place < bytes.count, bytes[place] == Self.anything {
        last = (place, index)
        place += 1
      } else if place < bytes.count, bytes[place] == Self.character {
        index = unsafe Self.end(ofCharacterAt: index, in: name)
        place += 1
      } else if place < bytes.count, unsafe bytes[place] == name[index] {
        index += 1
        place += 1
      } else if let (star, begin) = last {
        index = unsafe Self.end(ofCharacterAt: begin, in: name)
        place = star + 1
        last = (star, index)
      } else {
        return false
      }
    }
    return bytes[place...].allSatisfy { $0 == Self.anything }
  }

  /// The index behind a character, which in UTF-8 has one byte that says so and perhaps some that continue it.
  private static func end(ofCharacterAt index: Int, in name: UnsafeRawBufferPointer) -> Int {
    var end = index + 1
    while end < name.count, unsafe name[end] & 0xC0 == 0x80 { end += 1 }
    return end
  }
}
