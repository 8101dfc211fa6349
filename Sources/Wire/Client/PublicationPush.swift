/// A publication as its subscribers get it, written at once into memory of the right size.
///
/// The other replies go through general writers. This one is written once for each publication, channel and wire format,
/// in front of everything that waits, so it is measured first and then written without a step between. It looks at the
/// publication's fields where they are: copying them about would count references twice for each.
@safe struct PublicationPush {
  let channel: UnsafeRawBufferPointer
  let data: UnsafeRawBufferPointer
  let info: Info?
  let offset: UInt64
  let time: Int64
  let tags: [String: String]
  let payload: PayloadForm
  /// The payload is a patch against that of the publication before it.
  let isPatch: Bool

  /// How a payload stands in JSON.
  enum PayloadForm {
    /// As the value that it is.
    case value
    /// As a string of base64: the channel's data format is binary.
    case base64
    /// As a string of the JSON that it is: the subscription has patches.
    case text

    init(isBinary: Bool) { self = isBinary ? .base64 : .value }
  }

  @safe struct Info {
    let user: UnsafeRawBufferPointer
    let client: UnsafeRawBufferPointer
    let connection: UnsafeRawBufferPointer?
    let channel: UnsafeRawBufferPointer?
  }

  /// Appends the reply, as it stands among others in one message; or one whole WebSocket frame with it.
  static func append(
    _ publication: Publication, on channel: String, binaryData: Bool, _ format: WireFormat, asFrame: Bool,
    to bytes: inout [UInt8]
  ) {
    if publication.change != nil {
      return appendChange(
        .push(.publication(channel: channel, publication, binaryData: binaryData)), format, asFrame: asFrame, to: &bytes
      )
    }
    with(publication, on: channel, tags: publication.tags, payload: .init(isBinary: binaryData)) { push in
      unsafe withUnsafePointer(to: push) { push in
        unsafe bytes.append(contentsOf: Rendering(push, format, asFrame: asFrame))
      }
    }
  }

  /// Appends the publication as one whole WebSocket frame for those who take patches.
  static func appendFrame(
    _ publication: Publication, on channel: String, isPatch: Bool, _ format: WireFormat, to bytes: inout [UInt8]
  ) {
    with(publication, on: channel, tags: publication.tags, payload: .text, isPatch: isPatch) { push in
      unsafe withUnsafePointer(to: push) { push in
        unsafe bytes.append(contentsOf: Rendering(push, format, asFrame: true))
      }
    }
  }

  /// On map channels, by way of the general writers.
  @inline(never)
  private static func appendChange(
    _ push: ClientReply, _ format: WireFormat, asFrame: Bool, to bytes: inout [UInt8]
  ) {
    var payload: [UInt8] = []
    switch format {
    case .json: JSONReplyEncoder.encode(push, into: &payload)
    case .protobuf: ProtobufReplyEncoder.encode(push, into: &payload)
    }
    if asFrame { ServerFrame.appendHeader(payloadBytes: payload.count, format: format, to: &bytes) }
    bytes.append(contentsOf: payload)
  }

  /// Calls `body` with the publication's fields where they are.
  @inline(__always)
  static func with(
    _ publication: Publication, on channel: String = "", tags: [String: String], payload: PayloadForm,
    isPatch: Bool = false, _ body: (PublicationPush) -> Void
  ) {
    with(publication.info) { info in
      unsafe with(channel) { channel in
        unsafe publication.data.withUnsafeBytes { data in
          body(
            unsafe PublicationPush(
              channel: channel, data: data, info: info, offset: publication.offset, time: publication.time,
              tags: tags, payload: payload, isPatch: isPatch))
        }
      }
    }
  }

  @inline(__always)
  static func with(_ info: ClientInfo?, _ body: (Info?) -> Void) {
    guard let info else { return body(nil) }
    unsafe with(info.user) { user in
      unsafe with(info.client) { client in
        unsafe with(info.connectionInfo) { connection in
          unsafe with(info.channelInfo) { channel in
            body(unsafe Info(user: user, client: client, connection: connection, channel: channel))
          }
        }
      }
    }
  }

  @inline(__always)
  private static func with(_ text: String, _ body: (UnsafeRawBufferPointer) -> Void) {
    let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe body(UnsafeRawBufferPointer($0)) }
    if isDone != nil { return }
    // It does not stand in one piece: from Foundation, on macOS only.
    var copy = text
    copy.withUTF8 { unsafe body(UnsafeRawBufferPointer($0)) }
  }

  @inline(__always)
  private static func with(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Void) {
    guard let bytes else { return body(nil) }
    unsafe bytes.withUnsafeBytes { unsafe body($0) }
  }
}

/// A push of known length, written straight into the array that it is appended to.
///
/// An array asks a sequence that it appends to copy itself into the array's memory. That is how a frame is written behind
/// others without a buffer of its own.
@safe private struct Rendering: Sequence {
  private let push: UnsafePointer<PublicationPush>
  private let format: WireFormat
  private let sizes: ProtobufSizes
  private let payloadBytes: Int
  private let headerBytes: Int

  init(_ push: UnsafePointer<PublicationPush>, _ format: WireFormat, asFrame: Bool) {
    unsafe self.push = push
    self.format = format
    switch format {
    case .json:
      sizes = ProtobufSizes()
      var size = ByteCount()
      unsafe push.pointee.writeJSON(to: &size)
      payloadBytes = size.count
    case .protobuf:
      sizes = unsafe ProtobufSizes(push.pointee)
      payloadBytes = Varint.size(UInt64(sizes.reply)) + sizes.reply
    }
    headerBytes = asFrame ? ServerFrame.headerBytes(payloadBytes: payloadBytes) : 0
  }

  var underestimatedCount: Int { headerBytes + payloadBytes }

  func makeIterator() -> Array<UInt8>.Iterator {
    unsafe [UInt8](unsafeUninitializedCapacity: underestimatedCount) { memory, written in
      unsafe render(into: UnsafeMutableRawBufferPointer(memory))
      written = underestimatedCount
    }.makeIterator()
  }

  func _copyContents(
    initializing buffer: UnsafeMutableBufferPointer<UInt8>
  ) -> (Array<UInt8>.Iterator, UnsafeMutableBufferPointer<UInt8>.Index) {
    precondition(buffer.count >= underestimatedCount, "an array reserves what a sequence says that it holds")
    unsafe render(into: UnsafeMutableRawBufferPointer(buffer))
    return ([].makeIterator(), underestimatedCount)
  }

  private func render(into memory: UnsafeMutableRawBufferPointer) {
    guard let start = memory.baseAddress, memory.count >= underestimatedCount else {
      preconditionFailure("a frame is written where there is room for it")
    }
    var writer = unsafe ByteFiller(start, capacity: underestimatedCount)
    if headerBytes > 0 { ServerFrame.writeHeader(payloadBytes: payloadBytes, format: format, to: &writer) }
    switch format {
    case .json: unsafe push.pointee.writeJSON(to: &writer)
    case .protobuf: unsafe push.pointee.writeProtobuf(sizes, to: &writer)
    }
    precondition(writer.count == underestimatedCount, "a frame was measured otherwise than it was written")
  }
}
