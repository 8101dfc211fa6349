/// A picture that a gateway has taken in, or is taking in; or one that its owner has discarded, whose id is barred for a
/// while.
///
/// | State | `key` | `thread` | Can become |
/// |---|---|---|---|
/// | coming, or whole | its own | nil | sent; barred, as its owner discards it; gone, when it is due |
/// | sent | nil | the thread's | gone, with what the thread holds of it |
/// | barred | nil | nil | gone, when it is due |
///
/// Barred, because of an upload that is repeated or still under way when its picture is discarded: it must not come back,
/// nor be taken in just before gateways delete the file of the one before.
struct StatePicture: AppRecord {
  var id: String
  var owner: String
  /// The picture's MIME type; empty while it is being taken in.
  var type: String
  var bytes: Int64
  /// The picture's key, until it is sent; then the thread's record has it.
  var key: SealedKey?
  /// The upload of this id that the key belongs to, as the picture's file says; nil where no other gateway can go on
  /// with it.
  var upload: Bytes64?
  /// The key of the record of the thread in which the picture was sent.
  var thread: String?
  /// When the picture is discarded if nobody sends it; nil once it is sent, as it then goes with the thread.
  var due: Int64?

  /// The picture is on disk as a whole, so that it can be sent.
  var isWhole: Bool { !type.isEmpty }

  var isBarred: Bool { key == nil && thread == nil }

  /// Milliseconds for which the id of a discarded picture is barred: until gateways have been told twice to delete it.
  static let barredLifetime: Int64 = 300_000

  static func barred(_ id: String, of owner: String, at now: Int64) -> StatePicture {
    StatePicture(id: id, owner: owner, type: "", bytes: 0, due: now.saturatingAdd(barredLifetime))
  }

  var lane: AppLane { isBarred ? .upkeep : .endings }
}
