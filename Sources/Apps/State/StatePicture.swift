/// A picture that a gateway has taken in, or is taking in.
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
}
