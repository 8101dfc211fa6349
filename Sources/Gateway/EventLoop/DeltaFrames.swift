import Wire

/// A publication for subscribers who take patches, in the encodings that some of them want: whole, and as a patch
/// against the publication before it.
///
/// An object, so that the frames of all other publications are no larger for it.
final class DeltaFrames: Sendable {
  private struct Forms {
    let full: [UInt8]
    /// The whole publication where a patch would not be smaller.
    let patch: [UInt8]
  }

  private let json: Forms?
  private let protobuf: Forms?

  /// - Parameter base: the payload of the publication before, as all subscribers to patches have got it; nil: there is
  ///   none, so that the publication goes whole.
  init(
    of publication: Publication, on channel: ChannelName, base: [UInt8]?, _ dataFormat: DataFormat,
    for audience: Audience
  ) {
    let patch = base.flatMap { FossilPatch.make(from: $0, to: publication.data, isText: dataFormat == .json) }
    let patched = patch.map { patch in
      var patched = publication
      patched.data = patch
      return patched
    }
    func forms(_ format: WireFormat) -> Forms {
      let full = ClientCodec.frame(of: publication, on: channel.string, isPatch: false, format: format)
      let patch = patched.map { ClientCodec.frame(of: $0, on: channel.string, isPatch: true, format: format) }
      return Forms(full: full, patch: patch ?? full)
    }
    json = audience.jsonDelta ? forms(.json) : nil
    protobuf = audience.protobufDelta ? forms(.protobuf) : nil
  }

  subscript(form: TapeForm) -> [UInt8]? {
    let forms = form.format == .json ? json : protobuf
    return form.delta == .patch ? forms?.patch : forms?.full
  }

  /// Bytes of the whole publication in the longer encoding.
  var byteCount: Int { max(json?.full.count ?? 0, protobuf?.full.count ?? 0) }
}
