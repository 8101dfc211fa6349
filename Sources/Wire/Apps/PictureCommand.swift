/// What a gateway itself says to an app about pictures, or asks it. No client can: it is never read from JSON.
public indirect enum PictureCommand: Sendable, Equatable {
  case add(Picture)
  /// Asks for the key of an upload that another gateway began.
  case uploadKey(id: String, upload: [UInt8])
  /// Asks for the key of a picture, in the name of whoever wants to see it.
  case key(id: String)
  /// Asks which of these pictures nobody can ever see again.
  case gone([String])
  /// Discards an upload, or a picture that was not sent, as its owner says over HTTP.
  case discard(id: String)

  public struct Picture: Sendable, Equatable {
    public var id: String
    /// The picture's media type; nil: the picture is still to come.
    public var type: String?
    public var bytes: Int64
    /// Pixels a side, where the gateway has looked; 0: it has not.
    public var width: Int
    public var height: Int
    public var key: [UInt8]
    /// Tells this upload from others that there may have been under the id.
    public var upload: [UInt8]?

    public init(
      id: String, type: String?, bytes: Int64, width: Int = 0, height: Int = 0, key: [UInt8], upload: [UInt8]?
    ) {
      self.id = id
      self.type = type
      self.bytes = bytes
      self.width = width
      self.height = height
      self.key = key
      self.upload = upload
    }
  }

  var payloadBytes: Int {
    if case .gone(let ids) = self { ids.reduce(0) { $0 + 16 + $1.utf8.count } } else { 0 }
  }
}

extension StateCommand {
  /// The command of State that says the same. State does not ask how many pixels a picture has.
  public init(_ command: PictureCommand) {
    switch command {
    case .add(let picture):
      self = .addPicture(
        Picture(
          id: picture.id, type: picture.type, bytes: picture.bytes, key: picture.key, upload: picture.upload))
    case .uploadKey(let id, let upload): self = .uploadKey(id: id, upload: upload)
    case .key(let id): self = .pictureKey(id: id)
    case .gone(let ids): self = .gonePictures(ids)
    case .discard(let id): self = .discardUpload(id: id)
    }
  }
}

// MARK: On the link

extension PictureCommand {
  func write(to sink: inout some ByteSink) {
    switch self {
    case .add(let picture):
      sink.write(picture.id)
      sink.write(optionalText: picture.type)
      sink.write(UInt64(bitPattern: picture.bytes))
      sink.write(UInt64(bitPattern: Int64(picture.width)))
      sink.write(UInt64(bitPattern: Int64(picture.height)))
      sink.write(picture.key)
      sink.write(optional: picture.upload)
    case .uploadKey(let id, let upload):
      sink.write(id)
      sink.write(upload)
    case .key(let id), .discard(let id): sink.write(id)
    case .gone(let ids): sink.write(ids)
    }
  }

  init(_ method: CliqueCommand.Method, from reader: inout ByteReader) throws(MalformedMessage) {
    switch method {
    case .pictureAdded:
      self = .add(
        Picture(
          id: try reader.readString(), type: try reader.readOptionalString(),
          bytes: Int64(bitPattern: try reader.readNumber()), width: try Self.pixels(&reader),
          height: try Self.pixels(&reader), key: try reader.readBytes(), upload: try reader.readOptionalBytes()))
    case .pictureUpload: self = .uploadKey(id: try reader.readString(), upload: try reader.readBytes())
    case .pictureKey: self = .key(id: try reader.readString())
    case .pictureGone: self = .gone(try reader.readStrings())
    case .pictureDiscard: self = .discard(id: try reader.readString())
    default: throw MalformedMessage()
    }
  }

  private static func pixels(_ reader: inout ByteReader) throws(MalformedMessage) -> Int {
    Int(Int64(bitPattern: try reader.readNumber()))
  }

  var method: CliqueCommand.Method {
    switch self {
    case .add: .pictureAdded
    case .uploadKey: .pictureUpload
    case .key: .pictureKey
    case .gone: .pictureGone
    case .discard: .pictureDiscard
    }
  }
}
