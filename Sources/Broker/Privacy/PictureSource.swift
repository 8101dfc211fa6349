import Apps
import Log
import Wire

/// A part of a picture, with what is needed to read it.
public struct PicturePart: Sendable, Equatable {
  public var id: String
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
    PicturePart(id: picture.id, key: picture.key, total: Int(clamping: picture.bytes), range: range)
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

/// Looks that wait for a part of a picture. There are no more than looks under way.
struct PictureLooks {
  private var waiting: [UInt64: UserLook] = [:]
  private var next: UInt64 = 1

  mutating func add(_ look: UserLook) -> UInt64 {
    defer { next += 1 }
    waiting[next] = look
    return next
  }

  mutating func take(_ number: UInt64) -> UserLook? { waiting.removeValue(forKey: number) }
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
    turn.effects.append(.readPicture(copy.part, look: pictureLooks.add(look)))
  }

  /// A part of a picture has been read, or could not be.
  ///
  /// - Parameter number: of the effect that asked for it.
  public func pictureRead(_ result: PictureReadResult, for number: UInt64, in turn: inout Turn) {
    guard let look = pictureLooks.take(number), case .picture(let place, _) = look.position else { return }
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
}
