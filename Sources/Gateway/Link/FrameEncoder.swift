import Wire

/// Makes frames of what the backbone brings: once for all event loops, and only in the encodings that somebody wants.
struct FrameEncoder {
  private let namespaces: NamespaceTable
  private let packedClients: PackedClients
  /// The payload before that of the publication which is encoded next, where somebody takes patches.
  var base: [UInt8]?
  /// Publications encoded so far.
  private(set) var encodedAsJSON: UInt64 = 0
  private(set) var encodedAsProtobuf: UInt64 = 0

  init(namespaces: NamespaceTable, packedClients: PackedClients = PackedClients()) {
    self.namespaces = namespaces
    self.packedClients = packedClients
  }

  /// - Returns: nil where the channel's namespace is not configured here.
  mutating func frames(
    of publication: Publication, on channel: ChannelName, for audience: Audience
  ) -> EncodedFrames? {
    guard let options = namespaces.options(for: channel) else {
      base = nil
      return nil
    }
    // The tags that say whom a publication is for have done their work by now, and are not for clients.
    var publication = options.app == nil ? publication : publication.withoutAudienceTags
    let offset = publication.offset
    // Without history there is nothing to recover, and an SDK that is told an offset would believe that there is.
    if !options.keepsHistory { publication.offset = 0 }
    var key: ConflationKey?
    if options.lane != .publications { key = ConflationKey(publication) }
    let push = ClientReply.push(
      .publication(channel: channel.string, publication, binaryData: options.dataFormat == .binary))
    var frames = EncodedFrames(push, for: audience)
    frames.lane = options.lane
    frames.offset = offset
    if let key { frames.key = key }
    if packedClients.areThere { frames.packed = PackedFrames() }
    if audience.hasDelta {
      frames.delta = DeltaFrames(of: publication, on: channel, base: base, options.dataFormat, for: audience)
      base = nil
    }
    if audience.json { encodedAsJSON += 1 }
    if audience.protobuf { encodedAsProtobuf += 1 }
    return frames
  }
}

extension EncodedFrames {
  init(_ reply: ClientReply, for audience: Audience) {
    self.init(
      json: audience.json ? ClientCodec.frame(for: [reply], format: .json) : nil,
      protobuf: audience.protobuf ? ClientCodec.frame(for: [reply], format: .protobuf) : nil)
  }
}
