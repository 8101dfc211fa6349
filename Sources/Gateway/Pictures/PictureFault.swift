/// Why the store does not take or give a picture.
enum PictureFault: Error, Sendable, Equatable {
  /// The request's bytes do not continue what is stored of the picture, which ends at this offset.
  case offset(Int)
  /// The size is another than that of the upload that is under way, or ended.
  case otherSize(Int)
  /// The id is somebody else's.
  case taken
  /// Another connection writes to it at this moment.
  case busy
  /// Another connection has taken the upload over.
  case superseded
  case unsupportedType
  /// The app takes no pictures of this format.
  case notTaken
  /// The picture cannot be cleaned. The text is a sentence for whoever sent it.
  case refused(String)
  case empty
  case missing
  /// The file is not what was written.
  case damaged
  case full
  /// The store does not do it now; it may have done it. The text is a sentence for the log.
  case unavailable(String)
  /// What the system said, for the log.
  case system(String)
}
