/// A peer's identifier as a key of a dictionary: two are equal where their bytes are, unlike `String` (see
/// ``ChannelName``).
public struct IdentifierKey: Sendable, Hashable {
  public let string: String

  public init(_ string: String) { self.string = string }

  public static func == (a: IdentifierKey, b: IdentifierKey) -> Bool { a.string.hasSameBytes(as: b.string) }

  public func hash(into hasher: inout Hasher) {
    string.hashBytes(into: &hasher)
  }
}
