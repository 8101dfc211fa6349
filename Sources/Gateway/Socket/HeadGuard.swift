import NIOCore

/// Holds a request's head back until it is whole, and lets only a clean one through to the HTTP decoder.
///
/// The decoder accepts what older servers sent: bare line feeds, headers folded over lines. A proxy in front that reads
/// such a head in another way sees another request than we do. The guard also counts every byte of the head, however it
/// is cut, and knows which bytes came behind it.
final class HeadGuard: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  enum Violation: Error, Equatable {
    case tooLarge
    /// A line that does not end in CR LF, a folded header, or a NUL.
    case malformed
  }

  /// Bytes that came in the same read as the head's last, behind it.
  private(set) var bytesAfterHead = 0
  /// Nothing more is let through: the request is answered.
  var isClosed = false
  /// More came than the request has: behind it no other is read, for nobody looked where that would begin.
  private(set) var hasExcess = false
  /// Bytes of the body that are still to come; nil: any number.
  private var bodyBytes: Int?
  /// Something of the head has come.
  var hasBegun: Bool { isWhole || head.readableBytes > 0 }

  private let maxHeaderBytes: Int
  private var head = ByteBuffer()
  private var isWhole = false
  private var previous: UInt8 = 0
  /// Bytes of the line under way, without its CR.
  private var lineBytes = 0
  private var hasLine = false

  init(maxHeaderBytes: Int) { self.maxHeaderBytes = maxHeaderBytes }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isClosed { return }
    var input = unwrapInboundIn(data)
    if isWhole { return passBody(&input, context) }
    do {
      let count = try bytesOfHead(in: input)
      guard var part = input.readSlice(length: count) else { return }
      head.writeBuffer(&part)
    } catch {
      isClosed = true
      return context.fireErrorCaught(error)
    }
    guard isWhole else { return }
    bytesAfterHead = input.readableBytes
    let whole = head
    head = ByteBuffer()
    context.fireChannelRead(wrapInboundOut(whole))
    if input.readableBytes > 0 && !isClosed { passBody(&input, context) }
  }

  /// The request that has just begun has so many bytes behind its head. What comes behind those goes nowhere.
  func limitBody(to count: Int) {
    bodyBytes = count
    if bytesAfterHead > count { hasExcess = true }
  }

  /// The request and its answer are over, nothing came behind it, and another head may come.
  func beginAnother() {
    (isWhole, hasLine, lineBytes, previous, bodyBytes) = (false, false, 0, 0, nil)
  }

  private func passBody(_ input: inout ByteBuffer, _ context: ChannelHandlerContext) {
    guard let left = bodyBytes else { return context.fireChannelRead(wrapInboundOut(input)) }
    if input.readableBytes > left { hasExcess = true }
    guard let part = input.readSlice(length: min(left, input.readableBytes)), part.readableBytes > 0 else { return }
    bodyBytes = left - part.readableBytes
    context.fireChannelRead(wrapInboundOut(part))
  }

  /// How many of the bytes belong to the head; sets `isWhole` where its last is among them.
  private func bytesOfHead(in input: ByteBuffer) throws(Violation) -> Int {
    var count = 0
    for byte in input.readableBytesView {
      count += 1
      if head.readableBytes + count > maxHeaderBytes { throw .tooLarge }
      if try isEndOfHead(byte) {
        isWhole = true
        break
      }
    }
    return count
  }

  private func isEndOfHead(_ byte: UInt8) throws(Violation) -> Bool {
    let last = previous
    previous = byte
    switch byte {
    case UInt8(ascii: "\n"):
      guard last == UInt8(ascii: "\r") else { throw .malformed }
      guard lineBytes == 0 else {
        lineBytes = 0
        hasLine = true
        return false
      }
      // A head that is nothing but its end would leave whatever follows unguarded.
      if !hasLine { throw .malformed }
      return true
    case UInt8(ascii: "\r"): break
    case 0: throw .malformed
    case UInt8(ascii: " "), UInt8(ascii: "\t"):
      if lineBytes == 0 { throw .malformed }
      lineBytes += 1
    default: lineBytes += 1
    }
    if last == UInt8(ascii: "\r") { throw .malformed }
    return false
  }
}
