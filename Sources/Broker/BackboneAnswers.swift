import Apps
import Log
import Wire

/// The result of a search, as the finder's thread posts it.
struct SearchAnswer: Sendable {
  /// Nil: this broker has no finder.
  var found: Result<[FoundMessage], LogError>?
  /// Who searched.
  var user: String
  var requester: Requester
}

/// What came of reading a part of a picture.
struct PictureRead: Sendable {
  var look: UInt64
  var result: PictureReadResult
}
