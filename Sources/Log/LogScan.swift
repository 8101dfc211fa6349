public import Wire

/// Reads the log for somebody other than its broker, the index of messages for example: what is committed, on any
/// thread.
///
/// A call may wait for the disk. It reads no longer than its answer needs, because the log's WAL cannot be cut while
/// somebody reads. Publications that the broker has handed out and not committed yet are not found.
public protocol LogScan: Sendable {
  /// Where a channel stands; nil where the log holds nothing of it.
  ///
  /// - Parameter now: milliseconds since 1970.
  func channel(_ name: ChannelName, at now: Int64) throws(LogError) -> ScannedChannel?

  /// Calls `body` for the publications of the span, the oldest first, until it returns false or was called `limit`
  /// times.
  ///
  /// - Parameters:
  ///   - id: ``ScannedChannel/id``.
  ///   - notBefore: publications with an earlier time are left out. Milliseconds since 1970.
  func publications(
    of id: Int64, in span: ClosedRange<UInt64>, limit: Int, notBefore: Int64, _ body: (Publication) -> Bool
  ) throws(LogError)

  /// The offset of the oldest publication that is kept; nil where none is.
  func oldest(of id: Int64) throws(LogError) -> UInt64?

  /// Closes the connection; no call may follow. To be called before the log closes, which cannot tidy up while somebody
  /// reads it.
  func close() throws(LogError)
}

extension LogScan {
  public func oldest(of id: Int64) throws(LogError) -> UInt64? {
    var oldest: UInt64?
    try publications(of: id, in: 0...UInt64(Int64.max), limit: 1, notBefore: .min) {
      oldest = $0.offset
      return false
    }
    return oldest
  }
}

/// What ``LogScan/channel(_:at:)`` tells of a channel.
public struct ScannedChannel: Sendable, Equatable {
  /// The number by which the channel's publications are asked for: another one after the channel was dropped and came
  /// again.
  public var id: Int64
  /// The channel's epoch: publications of the same offset in another epoch are other ones.
  public var epoch: String
  /// The offset of the channel's newest publication.
  public var top: UInt64
  /// Publications with an earlier time are expired, swept or not. Milliseconds since 1970.
  public var notBefore: Int64

  public init(id: Int64, epoch: String, top: UInt64, notBefore: Int64 = .min) {
    self.id = id
    self.epoch = epoch
    self.top = top
    self.notBefore = notBefore
  }
}
