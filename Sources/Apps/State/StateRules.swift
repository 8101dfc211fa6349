/// The numbers of the app. Times are in milliseconds.
public struct StateRules: Sendable, Equatable {
  /// From a send to the moment at which it expires unanswered.
  public var lifetime: Int64
  /// From the answer to the moment at which both are gone.
  public var revealLifetime: Int64
  /// How long a thread says that it has expired, where nobody looks.
  public var expiredLifetime: Int64 = 24 * 3_600_000
  /// To record, for who has chosen nothing else.
  public var recordLimit: Int64
  /// What may be chosen.
  public var minimumRecordLimit: Int64 = 5_000
  public var maximumRecordLimit: Int64 = 600_000
  /// After the limit, for what was recorded in time to arrive.
  public var uploadGrace: Int64
  /// How long a picture is kept that nobody sends.
  public var pictureLifetime: Int64
  /// Pictures of one user that are uploaded and not sent; one more is refused.
  public var unsentPictures: Int
  /// Bytes of one user's pictures, sent and not sent, that are kept at a time.
  public var pictureBytes: Int64
  /// Of a caption, as a reader counts them.
  public var captionCharacters = 280
  /// Of a caption, in UTF-8: one character can be made of very many.
  public var captionBytes = 2_048
  /// Recorders that one user has open at a time; those that were closed make room for others.
  public var openRecorders: Int
  /// Threads of one user that wait for the other's answer.
  public var waitingThreads: Int
  /// People that one user blocks.
  public var blocks: Int
  /// Recorders opened, blocks set and lifted, settings changed, by one user.
  public var changesPerMinute: Int

  public init(
    lifetime: Int64, revealLifetime: Int64, recordLimit: Int64, uploadGrace: Int64, pictureLifetime: Int64,
    unsentPictures: Int, pictureBytes: Int64, openRecorders: Int, waitingThreads: Int, blocks: Int,
    changesPerMinute: Int
  ) {
    self.lifetime = lifetime
    self.revealLifetime = revealLifetime
    self.recordLimit = recordLimit
    self.uploadGrace = uploadGrace
    self.pictureLifetime = pictureLifetime
    self.unsentPictures = unsentPictures
    self.pictureBytes = pictureBytes
    self.openRecorders = openRecorders
    self.waitingThreads = waitingThreads
    self.blocks = blocks
    self.changesPerMinute = changesPerMinute
  }
}
