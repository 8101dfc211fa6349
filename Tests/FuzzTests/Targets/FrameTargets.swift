import NIOCore
import Wire

@testable import Gateway

/// What a client's connection carries beneath its messages.
enum FrameTargets {
  static func frames(_ input: [UInt8]) throws(BrokenProperty) -> Bool { try conversation(input, inflater: nil) }

  static func compressedFrames(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    guard let inflater = Inflater() else { return false }
    return try conversation(input, inflater: inflater)
  }

  // MARK: Frames

  private static let limits = [0, 1, 125, 1_000, 10_000]

  private struct Reading: Equatable {
    var events: [FrameReader.Event] = []
    var violation: FrameViolation?
  }

  /// The first byte chooses the limit of a message, the second how the rest comes in pieces.
  private static func conversation(_ input: [UInt8], inflater: Inflater?) throws(BrokenProperty) -> Bool {
    var bytes = FuzzBytes(input)
    let limit = bytes.pick(limits)
    let pattern = bytes.byte()
    let stream = bytes.rest()
    let whole = try read(stream, limit, inflater) { _ in stream.count }
    let drip = try read(stream, limit, inflater) { _ in 1 }
    let pieces = try read(stream, limit, inflater) { index in 1 + Int(pattern >> (index % 8)) % 7 * 5 }
    try require(whole == drip, "byte by byte the frames mean \(drip), and whole \(whole)")
    try require(whole == pieces, "in pieces the frames mean \(pieces), and whole \(whole)")
    return !whole.events.isEmpty
  }

  private static func read(
    _ stream: [UInt8], _ limit: Int, _ inflater: Inflater?, piece: (Int) -> Int
  ) throws(BrokenProperty) -> Reading {
    var reader = FrameReader(maxMessageBytes: limit, inflater: inflater)
    var reading = Reading()
    var rest = stream[...]
    var fed = 0
    var index = 0
    while !rest.isEmpty, reading.violation == nil {
      let count = piece(index)
      index += 1
      var input = ByteBuffer(bytes: rest.prefix(count))
      fed += input.readableBytes
      rest = rest.dropFirst(count)
      try read(&input, &reader, limit, into: &reading)
      try require(
        reader.reservedBytes <= 4 * fed + 1_024, "\(reader.reservedBytes) bytes are held after \(fed) came")
    }
    return reading
  }

  private static func read(
    _ input: inout ByteBuffer, _ reader: inout FrameReader, _ limit: Int, into reading: inout Reading
  ) throws(BrokenProperty) {
    while true {
      let event: FrameReader.Event?
      do throws(FrameViolation) { event = try reader.next(&input) } catch {
        reading.violation = error
        return
      }
      guard let event else { break }
      reading.events.append(event)
      switch event {
      case .message(let message):
        try require(message.readableBytes <= limit, "a message of \(message.readableBytes) bytes beyond \(limit)")
        if reader.isText {
          let isUTF8 = String(validating: message.readableBytesView, as: UTF8.self) != nil
          try require(isUTF8, "a text is no UTF-8")
        }
      case .ping(let payload): try require(payload.count <= 125, "a ping of \(payload.count) bytes")
      case .pong, .close: break
      }
    }
    try require(input.readableBytes == 0, "the reader wants more and has left \(input.readableBytes) bytes")
  }

  // MARK: Compression

  /// The first byte chooses the limit, and whether the message is text.
  static func deflate(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    guard let inflater = Inflater() else { return false }
    var bytes = FuzzBytes(input)
    let choice = bytes.byte()
    let limit = limits[Int(choice >> 1) % limits.count]
    let isText = choice & 1 == 1
    let payload = bytes.rest()
    try roundTrip(payload, inflater)
    let first = try inflate(payload, limit, isText, inflater)
    let second = try inflate(payload, limit, isText, inflater)
    try require(first == second, "a message depends on the one before")
    return first != nil
  }

  /// - Returns: nil where the payload is refused.
  private static func inflate(
    _ payload: [UInt8], _ limit: Int, _ isText: Bool, _ inflater: Inflater
  ) throws(BrokenProperty) -> [UInt8]? {
    let message: ByteBuffer?
    do throws(FrameViolation) {
      message = try inflater.inflate(ByteBuffer(bytes: payload), limitBytes: limit, isText: isText)
    } catch {
      message = nil
    }
    try require(
      inflater.madeBytes <= limit + Inflater.pieceBytes, "\(inflater.madeBytes) bytes were made, of \(limit)")
    guard let message else { return nil }
    try require(message.readableBytes <= limit, "a message of \(message.readableBytes) bytes beyond \(limit)")
    let made = Array(message.readableBytesView)
    try require(!isText || String(validating: made, as: UTF8.self) != nil, "a text is no UTF-8")
    return made
  }

  /// What our own side compresses, a client reads back.
  private static func roundTrip(_ message: [UInt8], _ inflater: Inflater) throws(BrokenProperty) {
    guard let deflater = Deflater(.medium) else { return }
    let compressed = message.withUnsafeBytes { bytes in deflater.deflate(bytes).map { Array($0) } }
    guard let compressed else { return }
    let back = try inflate(compressed, message.count, false, inflater)
    try require(back == message, "what was compressed does not come back")
  }

  // MARK: PROXY headers

  static func proxyHeader(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    var header = ProxyHeader()
    let most = 16 + ProxyHeader.longestRest
    for (index, byte) in input.enumerated() {
      let progress: ProxyHeader.Progress
      do throws(ProxyHeader.Malformed) { progress = try header.read(byte) } catch { return false }
      if case .whole(let client) = progress { return client != nil }
      try require(index + 1 < most, "a header wants more than \(most) bytes")
    }
    return false
  }
}
