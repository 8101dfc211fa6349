import Wire

/// What the backbone thread gives an event loop: one batch per loop and round, in order.
enum Handover: Sendable {
  case answer(connection: UInt64, tag: UInt64, BrokerResponse)
  /// An answer that the link gave itself, because of a limit. Not a form of `answer`, and indirect, so that answers
  /// stay small.
  indirect case refusal(connection: UInt64, tag: UInt64, RefusalCause, ClientError)
  /// Frames that every subscriber of the channel on this loop gets, encoded once for all loops.
  case frames(ChannelName, EncodedFrames)
  /// Frames of a publication on a channel of which some subscribers get only a part: those without a filter get them,
  /// and those whose filter the publication passes. Not a form of `frames`, and indirect, so that those stay small.
  indirect case filteredFrames(ChannelName, EncodedFrames, of: Publication)
  /// Frames for those subscribers only that asked for joins and leaves. Indirect, so that publications stay small.
  indirect case presenceFrames(ChannelName, EncodedFrames, of: ClientInfo)
  /// The frames just before this, on the same channel, are measured.
  case measured(ChannelName, HopMark)
  case lost(ChannelName)
  /// A publication of a shared poll, for some clients of the event loop. Indirect, so that others stay small.
  indirect case polled(PolledPush)
  /// The versions of a shared poll begin anew for these.
  indirect case pollRestarted(ChannelName, [PollSubscriber])
  /// What a user's subscriptions to a channel may see has changed, or they end.
  case audience(LinkAudience)
  /// Something to be done to connections, and to be confirmed under this number.
  indirect case sessionOrder(OrderNumber, SessionOrder)
  /// Tokens that count no more: connections are held against them, and that is confirmed under this number.
  case revoked(OrderNumber, RevocationTable)
  /// Something to be found out here, and to be told to the survey.
  case survey(LoopSurvey)
  /// The broker is behind: read client sockets later, or again.
  case holdClients(Bool)
  /// The link has everything that the event loop posted before its mark (``RequestAccount``).
  case requestsTaken

  /// Whether this is a publication, for which clients wait.
  var isPublication: Bool {
    switch self {
    case .frames, .filteredFrames: true
    default: false
    }
  }
}

/// One message in the encodings that somebody wants.
struct EncodedFrames: Sendable {
  var json: [UInt8]?
  var protobuf: [UInt8]?
  var lane = Lane.publications
  /// What the message replaces for those who lag, in the lanes that conflate.
  var key = ConflationKey.channel
  /// The publication's number in its channel, which the frames leave out where there is no history; 0: it is none.
  var offset: UInt64 = 0

  /// Where the event loops find the frames wrapped otherwise; nil: each wraps them by itself, should one have to.
  var packed: PackedFrames?
  /// The publication for those who take patches; nil: nobody on the channel does.
  var delta: DeltaFrames?

  subscript(format: WireFormat) -> [UInt8]? { format == .json ? json : protobuf }

  subscript(form: TapeForm) -> [UInt8]? {
    let frame = form.delta == .none ? self[form.format] : delta?[form]
    guard let frame, form.packing != .frames else { return frame }
    return packed?.frame(form, of: frame) ?? form.packing.pack(frame, form.format)
  }

  /// Bytes that the message counts for in the link's window, which sees one message and not its encodings.
  var byteCount: Int { max(json?.count ?? 0, protobuf?.count ?? 0, delta?.byteCount ?? 0) }
}
