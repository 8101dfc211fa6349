/// The numbers of the app. Times are in milliseconds.
public struct StateRules: Sendable, Equatable {
  /// From a send to its expiry, if nobody answers it.
  public var lifetime: Int64
  /// From the answer to the end, when both sides' contents are destroyed.
  public var revealLifetime: Int64
  /// How long a thread shows that it has expired, if nobody looks at it.
  public var expiredLifetime: Int64 = 24 * 3_600_000
  /// Time to record, for users who have chosen nothing else.
  public var recordLimit: Int64
  /// The least and the most time to record that a user may choose.
  public var minimumRecordLimit: Int64 = 5_000
  public var maximumRecordLimit: Int64 = 600_000
  /// Time after the limit for what was recorded in time to arrive.
  public var uploadGrace: Int64
  /// How long a picture that nobody sends is kept.
  public var pictureLifetime: Int64
  /// Pictures of one user that are uploaded and not sent; one more is refused.
  public var unsentPictures: Int
  /// Bytes of one user's pictures, sent and not sent, that are kept at a time.
  public var pictureBytes: Int64
  /// Of a caption, as a reader counts them.
  public var captionCharacters = 280
  /// Most bytes of a caption in UTF-8, because one character can be made of very many.
  public var captionBytes = 2_048
  /// Recorders that one user may have open at a time.
  public var openRecorders: Int
  /// Threads of one user that may wait for the other's answer.
  public var waitingThreads: Int
  /// Threads that may wait for one user's answer and are shown to them. What strangers send beyond is not shown.
  public var receivedThreads: Int
  /// What strangers may send one user in a day and is shown, a quarter of it at once.
  public var receivedPerDay: Int
  /// People whom one user may block.
  public var blocks: Int
  /// How often in a minute one user may open recorders, set and lift blocks, and change settings.
  public var changesPerMinute: Int

  /// Whether people are notified of what happens while they are away (``AppEffect/notify(_:)``).
  public var notifies = false

  public init(
    lifetime: Int64, revealLifetime: Int64, recordLimit: Int64, uploadGrace: Int64, pictureLifetime: Int64,
    unsentPictures: Int, pictureBytes: Int64, openRecorders: Int, waitingThreads: Int, receivedThreads: Int,
    receivedPerDay: Int, blocks: Int, changesPerMinute: Int
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
    self.receivedThreads = receivedThreads
    self.receivedPerDay = receivedPerDay
    self.blocks = blocks
    self.changesPerMinute = changesPerMinute
  }
}
