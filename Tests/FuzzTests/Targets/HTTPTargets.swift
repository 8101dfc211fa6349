import NIOCore
import NIOEmbedded
import NIOHTTP1
import Wire

@testable import Gateway

/// Requests on the public port, up to what is decided about them.
enum HTTPTargets {
  private static let mostHeadBytes = 2_048
  private static let mostBytes = 1_000

  // MARK: Heads

  /// The input is what comes on the connection.
  static func head(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    let whole = read(input, piece: input.count)
    let drip = read(input, piece: 1)
    try require(whole.head == drip.head, "byte by byte the head is \(drip), and whole \(whole)")
    guard let head = whole.head else { return false }
    for (origins, isDraining) in [([], false), (["https://*.example.com"], false), (["*"], true)] as [([String], Bool)]
    {
      let decision = RequestDecision(
        head, bytesAfterHead: whole.bytesAfterHead, path: "/connection/websocket",
        origins: OriginPolicy(allowedOrigins: origins), isDraining: isDraining, compresses: true,
        pictures: PictureSizes(state: mostBytes, clique: mostBytes), streamedMessageBytes: mostBytes)
      try check(decision)
    }
    return true
  }

  private struct Reading: Equatable {
    var head: HTTPRequestHead?
    var bytesAfterHead = 0
  }

  /// As a connection reads it: the guard, which counts and looks at line ends, and the parser behind it.
  private static func read(_ input: [UInt8], piece: Int) -> Reading {
    let headGuard = HeadGuard(maxHeaderBytes: mostHeadBytes)
    let channel = EmbeddedChannel()
    defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
    let decoder = ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes))
    do { try channel.pipeline.syncOperations.addHandlers([headGuard, decoder]) } catch { return Reading() }
    var rest = input[...]
    while !rest.isEmpty {
      let part = ByteBuffer(bytes: rest.prefix(max(1, piece)))
      rest = rest.dropFirst(max(1, piece))
      let isBroken = (try? channel.writeInbound(part)) == nil
      if let part = try? channel.readInbound(as: HTTPServerRequestPart.self) {
        guard case .head(let head) = part else { return Reading() }
        return Reading(head: head, bytesAfterHead: headGuard.bytesAfterHead)
      }
      if isBroken { break }
    }
    return Reading()
  }

  private static func check(_ decision: RequestDecision) throws(BrokenProperty) {
    switch decision {
    case .reply(let reply): try require(reply.status.code >= 200, "a reply with the status \(reply.status)")
    case .demo: throw BrokenProperty(description: "there is no demo here")
    case .upgrade(let upgrade):
      try require(upgrade.key.utf8.count == 24, "a key of \(upgrade.key.utf8.count) bytes")
      try require(RequestDecision.acceptance(of: upgrade.key).utf8.count == 28, "an acceptance of another length")
      if let deflate = upgrade.deflate { try check(deflate) }
    case .pictures(let request): try check(request)
    case .stream(let request):
      try require(request.maximumBodyBytes <= 2 * mostBytes + 1_024, "a body of \(request.maximumBodyBytes) bytes")
      try require(request.bodyBytes ?? 0 <= request.maximumBodyBytes, "a body beyond its limit")
      if case .events(let connect) = request.action {
        try require(!connect.isEmpty && connect.count <= mostBytes, "a connect command of \(connect.count) bytes")
      }
    }
  }

  private static func check(_ request: PictureRequest) throws(BrokenProperty) {
    switch request.action {
    case .preflight: break
    case .put(let id, let start, let count, let total):
      try require(PictureRequest.isID(id), "\(id) is no id")
      try require(count > 0 && total <= mostBytes, "\(count) bytes of a picture of \(total)")
      let (end, isBeyond) = (start ?? 0).addingReportingOverflow(count)
      try require(start ?? 0 >= 0 && !isBeyond && end <= total, "a part that ends at \(end) of \(total)")
    case .get(let id, let selection, _):
      try require(PictureRequest.isID(id), "\(id) is no id")
      try check(selection)
    case .progress(let id), .discard(let id): try require(PictureRequest.isID(id), "\(id) is no id")
    }
  }

  private static func check(_ selection: PictureSelection) throws(BrokenProperty) {
    for total in [1, 2, 5_000] {
      guard case .part(let range) = selection.answer(total: total, tag: "\"tag\"") else { continue }
      try require(
        !range.isEmpty && range.lowerBound >= 0 && range.upperBound <= total, "the part \(range) of \(total) bytes")
    }
  }

  private static func check(_ deflate: DeflateAgreement) throws(BrokenProperty) {
    let offers = ExtensionOffer.list(deflate.answer)
    try require(
      offers?.map(\.name) == ["permessage-deflate"], "the answer \(deflate.answer) is no list of one extension")
  }

  // MARK: Fields

  /// The input's lines are values of fields, of each of which every reader makes what it can.
  static func fields(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    let lines = input.split(separator: 0x0A, maxSplits: 7, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    var isRead = false
    for line in lines {
      if let offers = ExtensionOffer.list(line) {
        isRead = isRead || !offers.isEmpty
        if let agreement = DeflateAgreement(offers) { try check(agreement) }
      }
      try check(address: line)
      if let context = TraceContext(traceparent: line) {
        let again = TraceContext(traceparent: context.traceparent)
        try require(again == context, "\(context.traceparent) is not read as it was written")
        isRead = true
      }
      if let bytes = FormEncoding.decoded(line.utf8) {
        try require(bytes.count <= line.utf8.count, "\(bytes.count) bytes of \(line.utf8.count) encoded ones")
      }
      for name in ["range", "if-match", "if-none-match", "if-range"] {
        var headers = HTTPHeaders([(name, line)])
        if name == "if-range" { headers.add(name: "range", value: lines.last ?? "") }
        try check(PictureSelection(headers, isHead: false))
      }
      for allowed in [[], ["https://*.example.com"], [line]] as [[String]] {
        _ = OriginPolicy(allowedOrigins: allowed).allows(origins: [line], host: lines.last ?? "")
      }
    }
    let client = ForwardedFor.client(in: lines) { $0.isLoopback }
    return isRead || client != nil
  }

  private static func check(address text: String) throws(BrokenProperty) {
    guard let address = IPAddress(text) else { return }
    try require(IPAddress(address.description) == address, "\(address) is not read as it was written")
  }
}
