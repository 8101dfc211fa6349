import Apps
import Log
import Wire

/// A part of a picture, with what is needed to read it.
public struct PicturePart: Sendable, Equatable {
  public var id: String
  /// The upload that is meant, which may be kept for moderators alone; nil: whatever stands under the id.
  public var upload: [UInt8]?
  /// The key that the picture's file is encrypted under.
  public var key: [UInt8]
  /// Bytes of the whole picture.
  public var total: Int
  /// The bytes that are wanted; begins at a multiple of ``longest``.
  public var range: Range<Int>

  /// Most bytes of a part: so an export holds little in memory, however large pictures are.
  public static let longest = 1 << 20
}

/// Why a part of a picture could not be read.
public enum PictureReadFailure: Error, Sendable, Equatable {
  /// The picture's file is not there, or is not what was written: the text says which. Nobody can read it any more.
  case lost(String)
  /// It may be read another time. The text is a sentence for whoever asked.
  case unavailable(String)
}

public typealias PictureReadResult = Result<[UInt8], PictureReadFailure>

/// Reads parts of pictures where they are kept. Returns at once; the second parameter is called once, on any thread.
public typealias PictureSource = @Sendable (PicturePart, @escaping @Sendable (PictureReadResult) -> Void) -> Void

/// A part of a picture in a page of an export.
struct PictureCopy {
  let picture: AppPicture
  let range: Range<Int>
  /// Nil: it is still being read.
  var result: PictureReadResult?

  /// - Parameter start: the first byte of the part; below the picture's size.
  init(_ picture: AppPicture, from start: Int) {
    self.picture = picture
    range = start..<min(Int(clamping: picture.bytes), start + PicturePart.longest)
  }

  var part: PicturePart {
    PicturePart(
      id: picture.id, upload: picture.upload, key: picture.key, total: Int(clamping: picture.bytes), range: range)
  }

  /// Whether nothing of the picture follows in another page.
  var isLast: Bool {
    if case .failure = result { return true }
    return range.upperBound >= picture.bytes
  }

  /// Bytes of JSON that it takes, roughly.
  var cost: Int { 512 + range.count / 3 * 4 }

  func write(to writer: inout JSONWriter) {
    writer.object("picture") { writer in
      writer.write("id", picture.id)
      writer.write("type", picture.type)
      writer.write("bytes", picture.bytes)
      writer.write("user", picture.owner)
      if let with = picture.with { writer.write("with", with) }
      switch result {
      case .success(let bytes):
        writer.write("from", range.lowerBound)
        writer.write("b64data", base64: bytes)
      case .failure(.lost(let sentence)): writer.write("lost", sentence)
      case .failure(.unavailable), nil: break
      }
    }
  }
}

/// Who waits for parts of pictures. There are no more exports than looks under way, and ``mostModerators`` others.
struct PictureLooks {
  enum Waiting {
    case export(UserLook)
    case moderator(Requester, PictureCopy)
  }

  private var waiting: [UInt64: Waiting] = [:]
  private var next: UInt64 = 1
  private var moderators = 0

  /// Parts of pictures that moderators wait for at a time.
  static let mostModerators = 8

  var isFullForModerators: Bool { moderators >= Self.mostModerators }

  mutating func add(_ one: Waiting) -> UInt64 {
    defer { next += 1 }
    if case .moderator = one { moderators += 1 }
    waiting[next] = one
    return next
  }

  mutating func take(_ number: UInt64) -> Waiting? {
    let one = waiting.removeValue(forKey: number)
    if case .moderator = one { moderators -= 1 }
    return one
  }
}

/// Pictures in exports of a user's data.
extension BrokerCore {
  /// The picture of a record, if the user may have a copy of it. Keys of records with pictures are one app's alone.
  func picture(in key: String, for user: String, in turn: inout Turn) throws(ClientError) -> AppPicture? {
    for host in hosts.all {
      let picture = try consult(host, in: &turn) { (lens) throws(ClientError) in
        try host.app.picture(in: key, for: user, lens)
      }
      if let picture { return picture }
    }
    return nil
  }

  /// Goes on with a picture: to a part of it, or past it where it is gone since.
  ///
  /// - Returns: whether the look goes on without it.
  func begin(
    _ look: UserLook, at place: TracePosition, from start: Int, in turn: inout Turn
  ) throws(ClientError) -> Bool {
    guard let picture = try picture(in: place.key, for: look.user, in: &turn), picture.bytes > start else {
      look.position = .disk(place)
      return true
    }
    look.picture = PictureCopy(picture, from: start)
    return false
  }

  /// Has the part read on which the look's answer waits.
  func read(_ copy: PictureCopy, for look: UserLook, in turn: inout Turn) {
    turn.effects.append(.readPicture(copy.part, look: pictureLooks.add(.export(look))))
  }

  /// A part of a picture has been read, or could not be.
  ///
  /// - Parameter number: of the effect that asked for it.
  public func pictureRead(_ result: PictureReadResult, for number: UInt64, in turn: inout Turn) {
    switch pictureLooks.take(number) {
    case .export(let look): pictureRead(result, for: look, in: &turn)
    case .moderator(let requester, var copy):
      if case .failure(.unavailable(let sentence)) = result {
        return answer(requester, .failed(.internalError.saying(sentence)), in: &turn)
      }
      copy.result = result
      var writer = JSONWriter()
      writer.object { writer in
        copy.write(to: &writer)
        if !copy.isLast { writer.write("cursor", String(copy.range.upperBound)) }
      }
      answer(requester, .result(writer.bytes), in: &turn)
    case nil: return
    }
  }

  private func pictureRead(_ result: PictureReadResult, for look: UserLook, in turn: inout Turn) {
    guard case .picture(let place, _) = look.position else { return }
    if case .failure(.unavailable(let sentence)) = result {
      end(look)
      return answer(look.requester, .failed(.internalError.saying(sentence)), in: &turn)
    }
    guard var copy = look.picture else { return end(look) }
    copy.result = result
    look.picture = copy
    look.position = copy.isLast ? .disk(place) : .picture(place, from: copy.range.upperBound)
    end(look)
    answer(look.requester, .result(json(of: look)), in: &turn)
  }

  // MARK: Moderators

  /// Has a part of a picture read that is kept with a report.
  func show(
    _ request: ReportRequest.Picture, of host: AppHost, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard !pictureLooks.isFullForModerators else {
      throw .tooManyRequests.saying(
        "\(PictureLooks.mostModerators) pictures of reports are being read, as many as may; ask again in a moment")
    }
    let picture = try consult(host, in: &turn) { (lens) throws(ClientError) in
      try host.app.reportedPicture(request, lens)
    }
    guard request.start < picture.bytes else {
      throw .badRequest.saying(
        "the picture has \(picture.bytes) bytes, and the cursor is beyond them; begin without one")
    }
    let copy = PictureCopy(picture, from: request.start)
    turn.effects.append(.readPicture(copy.part, look: pictureLooks.add(.moderator(requester, copy))))
  }
}
