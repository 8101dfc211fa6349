import NIOCore
import NIOHTTP1
import Wire

/// Giving a picture out: the broker says whether the user may see it now, for each request anew, and only then is it
/// looked at what the request asks for. So nobody learns from a range, a tag or HEAD what they could not fetch.
extension PictureHandler {
  /// What the disk says of a picture, and what is to be answered.
  private struct Found: Sendable {
    var total: Int
    var tag: String
    var answer: PictureSelection.Answer
    /// The chunk in which the answer's bytes begin; nil: it has none.
    var first: [UInt8]?
    var window: PictureWindow
  }

  /// The part of a picture that is on its way.
  private struct Download {
    var id: String
    var key: [UInt8]
    var range: Range<Int>
    /// What is read ahead of it.
    var window: PictureWindow

    /// What of a chunk belongs to the part.
    func part(of chunk: [UInt8], _ index: Int) -> ArraySlice<UInt8> {
      let start = index * PictureFile.chunkBytes
      return chunk[(max(range.lowerBound, start) - start)..<(min(range.upperBound, start + chunk.count) - start)]
    }

    func isLast(_ index: Int) -> Bool { (index + 1) * PictureFile.chunkBytes >= range.upperBound }
  }

  func askForKey(_ id: String, _ selection: PictureSelection, _ user: String) {
    let (handler, eventLoop) = (NIOLoopBound(self, eventLoop: eventLoop), eventLoop)
    broker.key(id, user) { result in
      eventLoop.execute { handler.value.send(id, selection, result) }
    }
  }

  private func send(_ id: String, _ selection: PictureSelection, _ result: Result<PictureKey, ClientError>) {
    guard phase == .opening else { return }
    switch result {
    case .failure(let error): answer(HTTPReply(picture: error))
    case .success(let key):
      wasGranted = true
      let withBody = request.wantsBody
      let purpose = request.purpose
      work { store in
        try Self.find(id, for: purpose, selection, withBody: withBody, key: key.key, in: store)
      } then: { [self] found in
        guard phase == .opening else { return }
        send(found, id, key)
      }
    }
  }

  private static func find(
    _ id: String, for purpose: PicturePurpose, _ selection: PictureSelection, withBody: Bool, key: [UInt8],
    in store: PictureStore
  ) throws -> Found {
    let window = PictureWindow(beginsAtStart: withBody && selection.wanted == nil)
    let (total, tag) = try store.outline(id: id, for: purpose, key: key, window)
    let answer = selection.answer(total: total, tag: tag)
    let range: Range<Int>? =
      switch answer {
      case .whole: 0..<total
      case .part(let range): range
      case .notModified, .changed, .outside: nil
      }
    if let range { window.end(with: (range.upperBound - 1) / PictureFile.chunkBytes) }
    let first =
      try withBody
      ? range.map { try store.chunk($0.lowerBound / PictureFile.chunkBytes, of: id, key: key, window) } : nil
    return Found(total: total, tag: tag, answer: answer, first: first, window: window)
  }

  private func send(_ found: Found, _ id: String, _ key: PictureKey) {
    let range: Range<Int>
    switch found.answer {
    case .changed: return answer(.pictureChanged)
    case .outside: return answer(.pictureRangeOutside(found.total))
    case .notModified: return sendHead("304 Not Modified", found, [])
    case .whole: range = 0..<found.total
    case .part(let part): range = part
    }
    // The type comes from the broker: it must not break out of its header line.
    let type = PictureFormat(rawValue: key.type)?.rawValue ?? "application/octet-stream"
    var headers = [("Content-Type", type), ("Content-Length", "\(range.count)"), ("Accept-Ranges", "bytes")]
    var status = "200 OK"
    if case .part = found.answer {
      status = "206 Partial Content"
      headers.append(("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(found.total)"))
    }
    sendHead(status, found, headers, isWhole: found.first == nil)
    guard let first = found.first else { return }
    write(
      first, range.lowerBound / PictureFile.chunkBytes,
      Download(id: id, key: key.key, range: range, window: found.window))
  }

  /// - Parameter isWhole: nothing comes after the head.
  private func sendHead(
    _ status: String, _ found: Found, _ headers: [(name: String, value: String)], isWhole: Bool = true
  ) {
    guard let context else { return }
    enter(.sending)
    var text = "HTTP/1.1 \(status)\r\n"
    let more = [
      ("ETag", found.tag), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
      ("Connection", "close"),
    ]
    let readable = HTTPReply(status: .ok, body: "").readable(from: request.origin).headers
    for (name, value) in headers + more + readable { text += "\(name): \(value)\r\n" }
    context.write(NIOAny(ByteBuffer(string: text + "\r\n")), promise: nil)
    guard isWhole else { return }
    context.flush()
    finishOutput()
  }

  /// Writes what belongs to the part of a chunk, and asks for the next when the kernel has it.
  private func write(_ chunk: [UInt8], _ index: Int, _ download: Download) {
    guard phase == .sending, let context else { return }
    let promise = eventLoop.makePromise(of: Void.self)
    promise.futureResult.assumeIsolated().whenComplete { [self] result in
      guard phase == .sending, case .success = result else { return }
      lastMove = .now()
      if download.isLast(index) { return finishOutput() }
      isWithDisk = true
      let (id, key, window) = (download.id, download.key, download.window)
      // A failure in the middle can only be shown by closing early.
      service.work(on: eventLoop) { try $0.chunk(index + 1, of: id, key: key, window) }.assumeIsolated()
        .whenComplete { [self] result in
          isWithDisk = false
          lastMove = .now()
          guard phase == .sending else { return }
          returnToClient()
          switch result {
          case .success(let next): write(next, index + 1, download)
          case .failure: self.context?.close(promise: nil)
          }
        }
    }
    context.writeAndFlush(NIOAny(ByteBuffer(bytes: download.part(of: chunk, index))), promise: promise)
  }
}
