/// One part of a publication's way through the server. Together they are the whole, so that a slow whole can be laid to
/// one of them.
///
///     frame read ─ gateway_in ─ link_in ─ broker ─ log ─ link_out ─ gateway_out ─ socket_first ─ … ─ socket_last
public enum Hop: String, Sendable, CaseIterable {
  /// From the frame that was read to the request that is handed to the link.
  case gatewayIn = "gateway_in"
  /// To the broker, which takes the request in.
  case linkIn = "link_in"
  /// The broker decides, and gives the publication to the log; waiting for what it has to read counts.
  case broker
  /// Until the log has it: for `durable` the commit, for others next to nothing.
  case log
  /// From the broker to a gateway that asked for the channel.
  case linkOut = "link_out"
  /// From there to the channel's tape on an event loop: encoding, and the hand-over.
  case gatewayOut = "gateway_out"
  /// From the tape until the kernel took it for the first subscriber of the event loop.
  case socketFirst = "socket_first"
  /// From the tape until the kernel took it for all subscribers of the event loop that can take it.
  case socketLast = "socket_last"
  /// From the frame that was read to the last of one gateway's subscribers.
  case whole
}
