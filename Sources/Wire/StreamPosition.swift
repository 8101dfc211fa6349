/// A place in a channel's stream.
///
/// An offset alone lies after a restart: a broker that lost its memory counts from one again, and a client that asks
/// for "everything after 41" would be given a different 42. So every offset goes with the epoch in which it was given
/// out, and an epoch changes whenever the broker cannot prove that it still holds what it had handed out.
public struct StreamPosition: Sendable, Hashable {
  /// The epoch, which the broker compares byte by byte; opaque to everybody else.
  public var epoch: String
  /// The offset of the last publication, counted from 1; 0 where nothing was published in this epoch.
  public var offset: UInt64

  public init(epoch: String, offset: UInt64) {
    self.epoch = epoch
    self.offset = offset
  }
}
