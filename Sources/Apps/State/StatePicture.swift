/// A picture that a gateway took in, or takes in.
struct StatePicture: AppRecord {
  var id: String
  var owner: String
  /// Empty while it is taken in.
  var type: String
  var bytes: Int64
  /// Until it is sent; then the thread has it.
  var key: SealedKey?
  /// Which upload of this id the key belongs to, as the file says; nil where no other gateway can go on with it.
  var upload: Bytes64?
  /// The thread that it was sent in, by the key of its record.
  var thread: String?
  /// Nil once it is sent: it goes with the thread then.
  var due: Int64?

  /// It is on disk as a whole, so that it can be sent.
  var isWhole: Bool { !type.isEmpty }
}
