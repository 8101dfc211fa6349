import Auth
import Logging
import NIOCore
import NIOHTTP1
import Wire

/// One request for pictures, from behind its head to the end of the connection.
///
/// Bounded: of an upload, one chunk is with the disk and one burst waits (``mostWaiting``), while the socket is not
/// read; of a download, one chunk is on its way. Requests are counted, in all and for each user (``PictureBudget``).
/// Whatever does not move for a while ends.
final class PictureHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart

  enum Phase {
    /// Asks whose token it is, then the store. Can transition to: receiving, finishing, sending, over.
    case opening
    /// Can transition to: finishing, over.
    case receiving
    /// The upload is whole: disk, broker, name. Can transition to: over.
    case finishing
    /// Can transition to: over.
    case sending
    /// Answered, or nobody is there any more. Final.
    case over
  }

  let request: PictureRequest
  let service: PictureService
  private let listener: ListenerContext
  private let headGuard: HeadGuard
  private let slot: ConnectionSlot
  let eventLoop: any EventLoop
  var context: ChannelHandlerContext?
  var phase = Phase.opening
  private var timer: Scheduled<Void>?
  private var timerDeadline = NIODeadline.distantFuture
  /// The disk has a chunk to write, or is asked for one: nobody waits for the client.
  var isWithDisk = false
  private var place: PicturePlace?
  /// When something moved last.
  var lastMove = NIODeadline.now()
  /// When the phase began that goes at the client's pace.
  private var start = NIODeadline.now()

  /// The path of the request was passed on because there is one (``PictureService/sizes``).
  var broker: PictureBroker { service.brokers[request.purpose] ?? .absent }

  /// The broker gave the picture's key, so the user may see it.
  var wasGranted = false

  // Of an upload.
  private var ticket: PictureStore.Ticket?
  private var offset = 0
  private var waiting = ByteBuffer()
  /// All bytes of this request's body are here.
  private var hasEnded = false
  /// The broker was told of the upload that begins here, and has not answered yet.
  private var isAnnouncing = false
  /// The part is here, and its client is answered once the broker knows the upload.
  private var owesContinuation = false

  /// Bytes of a burst that wait for the disk. A socket's reading stops after a few reads of at most 64 KiB each.
  static let mostWaiting = 1 << 20

  init(
    _ request: PictureRequest, service: PictureService, listener: ListenerContext, headGuard: HeadGuard,
    slot: ConnectionSlot, eventLoop: any EventLoop
  ) {
    self.request = request
    self.service = service
    self.listener = listener
    self.headGuard = headGuard
    self.slot = slot
    self.eventLoop = eventLoop
  }

  // MARK: The channel

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    armTimer()
    if case .preflight = request.action { return answer(.picturePreflight) }
    place = service.budget.enter()
    guard place != nil else {
      refuse(.pictureRequests, from: slot.address?.description ?? "")
      return answer(.pictureUnavailable)
    }
    if case .put = request.action { setReading(false) }
    authorize()
  }

  func handlerRemoved(context: ChannelHandlerContext) { end() }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  private func end() {
    phase = .over
    timer?.cancel()
    context = nil
    waiting = ByteBuffer()
    place = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard phase == .opening || phase == .receiving else { return }
    switch unwrapInboundIn(data) {
    case .head: break
    case .body(var bytes):
      guard case .put = request.action else { return }
      lastMove = .now()
      guard waiting.readableBytes + bytes.readableBytes <= Self.mostWaiting else {
        context.close(promise: nil)
        return
      }
      waiting.writeBuffer(&bytes)
      place?.bytesWaiting = waiting.readableBytes
      takeChunk()
    case .end:
      hasEnded = true
      takeChunk()
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard phase != .over else { return }
    if error is HTTPParserError || error is HeadGuard.Violation {
      answer(.badRequest("this is not a well-formed HTTP/1.1 request"))
    } else {
      context.close(promise: nil)
    }
  }

  private func setReading(_ on: Bool) {
    // Fails only on a closed channel, where it no longer matters.
    try? context?.channel.syncOptions?.setOption(.autoRead, value: on)
  }

  // MARK: Time

  /// When the request is given up if nothing moves before. The client's limits hold only while the client is waited
  /// for; while the disk or the broker is, another does.
  private var deadline: NIODeadline {
    let limits = service.configuration
    switch phase {
    case .receiving where !isWithDisk && !owesContinuation, .sending where !isWithDisk:
      return min(
        lastMove + .milliseconds(limits.idleTimeoutMilliseconds),
        start + .milliseconds(limits.requestTimeoutMilliseconds))
    case .opening, .receiving, .finishing, .sending, .over:
      return lastMove + .milliseconds(limits.answerTimeoutMilliseconds)
    }
  }

  /// Goes over to a phase, whose times begin now.
  func enter(_ phase: Phase) {
    self.phase = phase
    if phase != .finishing { start = .now() }
    lastMove = .now()
    timer?.cancel()
    armTimer()
  }

  /// From now on the client is waited for again, not the disk: the timer may be set too late for that.
  func returnToClient() {
    if deadline >= timerDeadline { return }
    timer?.cancel()
    armTimer()
  }

  private func armTimer() {
    timerDeadline = deadline
    timer = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
      if NIODeadline.now() < deadline { return armTimer() }
      switch phase {
      // It can be gone on with here, if not elsewhere.
      case .receiving where owesContinuation: answer(.pictureContinues(offset))
      case .receiving: answer(isWithDisk ? .pictureUnavailable : .pictureTimedOut)
      case .opening, .finishing: answer(.pictureUnavailable)
      case .sending: context?.close(promise: nil)
      case .over: break
      }
    }
  }

  // MARK: Answers

  /// Writes the answer and a FIN behind it, as ``RequestHandler`` does, and reads on so that the client reads it.
  func answer(_ reply: HTTPReply) {
    guard phase != .over, let context else { return }
    if reply.status.code >= 400 { listener.counters.countRejected() }
    let bytes = reply.readable(from: request.origin).encoded(withBody: request.wantsBody)
    context.writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)), promise: nil)
    finishOutput()
  }

  private func refuse(_ cause: RefusalCause, from source: String) {
    listener.configuration.refusals.note(cause, from: source)
  }

  func finishOutput() {
    guard let context else { return }
    setReading(true)
    headGuard.isClosed = true
    context.close(mode: .output, promise: nil)
    let channel = context.channel
    end()
    timer = channel.eventLoop.scheduleTask(in: .milliseconds(listener.configuration.closeGraceMilliseconds)) {
      channel.close(promise: nil)
    }
  }

  func fail(_ error: any Error) {
    let fault = error as? PictureFault ?? .system("\(error)")
    switch fault {
    case .unavailable(let sentence):
      listener.logger.error("a picture could not be kept or read: \(sentence)")
    case .system, .damaged, .full:
      listener.logger.error("a picture could not be stored or read", metadata: ["error": "\(fault)"])
    case .refused, .notTaken:
      // The broker may know of the upload: its place is free again.
      if let ticket { broker.discard(ticket.id, ticket.user) { _ in } }
    case .missing where wasGranted:
      listener.logger.error("\(service.store.depot.absence)")
    default: break
    }
    answer(HTTPReply(fault))
  }

  /// Runs `body` on a thread that may wait for the disk; `done` is called on the event loop, also where the client has
  /// gone.
  func work<Value: Sendable>(
    _ body: @escaping @Sendable (PictureStore) throws -> Value, then done: @escaping (Value) -> Void
  ) {
    service.work(on: eventLoop, body).assumeIsolated().whenComplete { [self] result in
      switch result {
      case .success(let value): done(value)
      case .failure(let error): fail(error)
      }
    }
  }

  // MARK: Opening

  private func authorize() {
    let handler = NIOLoopBound(self, eventLoop: eventLoop)
    let (verifier, token, eventLoop) = (service.verifier, request.token, eventLoop)
    Task {
      let result: Result<ConnectionClaims, TokenError>
      do throws(TokenError) {
        result = .success(try await verifier.verifyConnection(token))
      } catch {
        result = .failure(error)
      }
      eventLoop.execute { handler.value.authorized(result) }
    }
  }

  private func authorized(_ result: Result<ConnectionClaims, TokenError>) {
    guard phase == .opening else { return }
    switch result {
    case .failure(let error): answer(HTTPReply(error))
    case .success(let claims):
      if claims.user.isEmpty { return answer(.pictureUnauthorized("pictures are for users who are signed in")) }
      slot.signedIn()
      guard place?.belongs(to: claims.user) ?? false else {
        refuse(.pictureRequestsOfUser, from: claims.user)
        return answer(.pictureBusy)
      }
      begin(for: claims.user)
    }
  }

  private func begin(for user: String) {
    switch request.action {
    case .preflight: answer(.picturePreflight)
    case .progress(let id):
      work { [purpose = request.purpose] in
        try $0.progress(id: id, user: user, for: purpose)
      } then: { [self] progress in
        answer(.pictureProgress(progress.offset))
      }
    case .put(let id, let start, _, let total): begin(id, total, start, user)
    case .get(let id, let selection, _): askForKey(id, selection, user)
    case .discard(let id): discard(id, user)
    }
  }

  /// Broker, then disk: once the broker has barred the id, nothing of the picture comes back. Goes on where the client
  /// has gone.
  private func discard(_ id: String, _ user: String) {
    let (handler, eventLoop) = (NIOLoopBound(self, eventLoop: eventLoop), eventLoop)
    broker.discard(id, user) { result in
      eventLoop.execute { handler.value.discarded(result, id, user) }
    }
  }

  private func discarded(_ result: Result<Void, ClientError>, _ id: String, _ user: String) {
    if case .failure(let error) = result { return answer(HTTPReply(picture: error)) }
    work { [purpose = request.purpose] in
      try $0.discardUpload(id: id, user: user, for: purpose)
    } then: { [self] in
      answer(.pictureDiscarded)
    }
  }

  // MARK: Taking in

  /// - Parameter anew: begin from nothing, because nobody can go on with what there is of the picture.
  private func begin(_ id: String, _ total: Int, _ start: Int?, _ user: String, anew: Bool = false) {
    work { [purpose = request.purpose] in
      try $0.begin(id: id, user: user, total: total, start: start, anew: anew, for: purpose)
    } then: { [self] beginning in
      guard phase == .opening else { return }
      switch beginning {
      // The picture is here already: the client did not hear the answer the first time.
      case .finished: answer(.pictureTaken(id: id, total))
      case .receives(let ticket, let offset, let isNew):
        if isNew { announce(ticket) }
        receive(ticket, from: offset)
      case .needsKey(let ticket, let offset): askForUploadKey(ticket, offset, start)
      }
    }
  }

  private func receive(_ ticket: PictureStore.Ticket, from offset: Int) {
    guard phase == .opening else { return }
    self.ticket = ticket
    self.offset = offset
    enter(.receiving)
    if offset == ticket.total { return finish() }
    if request.expectsContinue {
      context?.writeAndFlush(NIOAny(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
    }
    takeChunk()
  }

  /// Tells the broker the key of an upload that has begun, so that any gateway can go on with it. Only a client that is
  /// told to go on waits for that: its next part may come to another gateway, whose question to the broker would else
  /// overtake this. A picture of one chunk cannot be gone on with anyway.
  private func announce(_ ticket: PictureStore.Ticket) {
    guard ticket.total > PictureFile.chunkBytes, let key = service.store.key(of: ticket) else { return }
    let picture = BegunPicture(
      id: ticket.id, user: ticket.user, bytes: ticket.total, key: key, upload: ticket.upload)
    let (handler, eventLoop) = (NIOLoopBound(self, eventLoop: eventLoop), eventLoop)
    isAnnouncing = true
    broker.begin(picture) { result in
      eventLoop.execute { handler.value.announced(result, ticket) }
    }
  }

  private func announced(_ result: Result<Void, ClientError>, _ ticket: PictureStore.Ticket) {
    isAnnouncing = false
    // A broker that is away keeps nobody from uploading: it is asked again when the picture is whole.
    if case .failure(let error) = result, !error.temporary { refused(error, ticket) }
    if phase == .receiving, owesContinuation { answer(.pictureContinues(offset)) }
  }

  private func refused(_ error: ClientError, _ ticket: PictureStore.Ticket) {
    guard phase == .receiving else { return }
    // Uploads that other gateways do not see begin anew there, also where the picture was whole and did not get its place.
    // The broker decides when it is whole again; only nobody can go on with it after this gateway.
    if error.code == 437, !service.store.depot.sharesUploads { return }
    phase = .finishing
    work {
      $0.drop(ticket)
    } then: { [self] in
      answer(HTTPReply(picture: error))
    }
  }

  /// Asks the broker for the key of an upload that another gateway began.
  private func askForUploadKey(_ ticket: PictureStore.Ticket, _ offset: Int, _ start: Int?) {
    let (handler, eventLoop) = (NIOLoopBound(self, eventLoop: eventLoop), eventLoop)
    broker.uploadKey(ticket.id, ticket.upload, ticket.user) { result in
      eventLoop.execute { handler.value.adopt(result, ticket, offset, start) }
    }
  }

  private func adopt(
    _ result: Result<[UInt8], ClientError>, _ ticket: PictureStore.Ticket, _ offset: Int, _ start: Int?
  ) {
    guard phase == .opening else { return }
    switch result {
    case .success(let key):
      work {
        try $0.adopt(key, for: ticket)
      } then: { [self] in
        receive(ticket, from: offset)
      }
    case .failure(let error) where error.temporary: answer(.pictureUnavailable)
    case .failure:
      // Nobody has the upload's key any more, so nobody can go on with it.
      if start ?? 0 == 0 { return begin(ticket.id, ticket.total, start, ticket.user, anew: true) }
      work {
        $0.drop(ticket)
      } then: { [self] in
        answer(HTTPReply(PictureFault.offset(0)))
      }
    }
  }

  /// Gives the disk a chunk where one is whole, and reads on where none is.
  private func takeChunk() {
    guard phase == .receiving, !isWithDisk, let ticket else { return }
    let count = min(PictureFile.chunkBytes, ticket.total - offset)
    guard let chunk = waiting.readBytes(length: count) else {
      // A part of a chunk is not kept: the answer says where to go on.
      if hasEnded, !isAnnouncing { return answer(.pictureContinues(offset)) }
      owesContinuation = hasEnded
      returnToClient()
      return setReading(true)
    }
    waiting.discardReadBytes()
    place?.bytesWaiting = waiting.readableBytes
    isWithDisk = true
    setReading(false)
    work {
      try $0.append(chunk, to: ticket)
    } then: { [self] offset in
      isWithDisk = false
      lastMove = .now()
      self.offset = offset
      guard phase == .receiving else { return }
      if offset == ticket.total { finish() } else { takeChunk() }
    }
  }

  /// Disk, then broker, then the picture's name: a client that is told that its picture is here can send it, whatever
  /// fails after. The steps go on where the client has gone.
  private func finish() {
    guard let ticket else { return }
    enter(.finishing)
    let (handler, broker, eventLoop) = (NIOLoopBound(self, eventLoop: eventLoop), broker, eventLoop)
    work {
      try $0.finish(ticket)
    } then: { picture in
      broker.register(picture) { result in
        eventLoop.execute { handler.value.registered(result, ticket) }
      }
    }
  }

  private func registered(_ result: Result<Void, ClientError>, _ ticket: PictureStore.Ticket) {
    switch result {
    case .success:
      work {
        try $0.keep(ticket)
      } then: { [self] in
        answer(.pictureTaken(id: ticket.id, ticket.total))
      }
    case .failure(let error):
      // After an error that may pass, the upload is kept for another try.
      if error.temporary { return answer(HTTPReply(picture: error)) }
      work {
        $0.drop(ticket)
      } then: { [self] in
        answer(HTTPReply(picture: error))
      }
    }
  }
}
