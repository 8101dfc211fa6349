import Wire

/// A picture of which a user may have a copy: what it is, and the key that its file is encrypted under.
public struct AppPicture: Sendable, Equatable {
  public var id: String
  /// A media type: `image/jpeg`.
  public var type: String
  public var bytes: Int64
  /// Who made it.
  public var owner: String
  /// The other of the two between whom it was sent; nil: it was not sent yet.
  public var with: String?
  public var key: [UInt8]
  /// The upload that is meant, where the id may be another's by now; nil: whatever stands under the id.
  public var upload: [UInt8]?

  public init(
    id: String, type: String, bytes: Int64, owner: String, with: String?, key: [UInt8], upload: [UInt8]? = nil
  ) {
    self.id = id
    self.type = type
    self.bytes = bytes
    self.owner = owner
    self.with = with
    self.key = key
    self.upload = upload
  }
}

extension App {
  public func picture(
    in key: String, for user: String, _ view: any AppView
  ) throws(ClientError) -> AppPicture? { nil }
}
