/// A picture that a gateway took in.
struct StatePicture: AppRecord {
  var id: String
  var owner: String
  var type: String
  var bytes: Int64
  /// Until it is sent; then the thread has it.
  var key: SealedKey?
  /// The thread that it was sent in, by the key of its record.
  var thread: String?
  /// Nil once it is sent: it goes with the thread then.
  var due: Int64?
}

/// What is kept of one user.
struct StatePerson: AppRecord {
  /// How long they want to record, in milliseconds; nil: as long as the rules say.
  var limit: Int64?
  /// Pictures that are uploaded and not sent.
  var unsent: [String] = []

  var due: Int64? { nil }
  var isEmpty: Bool { limit == nil && unsent.isEmpty }
}
