/// A command of the app State (`docs/STATE.md`), read and checked; or what a gateway says of pictures, which no JSON is
/// ever read into.
public indirect enum StateCommand: Sendable, Equatable {
  case begin(to: String)
  case send(Send)
  case seen(with: String)
  /// Milliseconds; nil changes nothing, 0 is the server's own.
  case settings(limit: Int64?)
  case block(String)
  case unblock(String)
  // Of gateways.
  case addPicture(Picture)
  /// The key of an upload that another gateway began.
  case uploadKey(id: String, upload: [UInt8])
  case pictureKey(id: String)
  /// Which of these nobody can ever see again.
  case gonePictures([String])

  /// The number is the one that stands in the link.
  public enum Method: UInt8, Sendable, CaseIterable {
    case begin = 1
    case send, seen, settings, block, unblock, addPicture, uploadKey, pictureKey, gonePictures

    public var name: String {
      switch self {
      case .begin: "state.begin"
      case .send: "state.send"
      case .seen: "state.seen"
      case .settings: "state.settings"
      case .block: "state.block"
      case .unblock: "state.unblock"
      case .addPicture: "state.picture.added"
      case .uploadKey: "state.picture.upload"
      case .pictureKey: "state.picture.key"
      case .gonePictures: "state.picture.gone"
      }
    }

    static let named = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })
  }

  public struct Send: Sendable, Equatable {
    public var to: String
    public var front: String
    public var rear: String
    /// Never empty.
    public var caption: Caption?
    /// For the other, to record the answer, in milliseconds.
    public var replyLimit: Int64?
    /// That the client knows this send by. Never empty.
    public var key: String?
  }

  public struct Caption: Sendable, Equatable {
    public var text: String
    /// As a reader counts them.
    public var characters: Int
  }

  public struct Picture: Sendable, Equatable {
    public var id: String
    /// A media type; nil: the picture is still to come.
    public var type: String?
    public var bytes: Int64
    public var key: [UInt8]
    /// Which upload this is, of those that there may have been under the id.
    public var upload: [UInt8]?

    public init(id: String, type: String?, bytes: Int64, key: [UInt8], upload: [UInt8]?) {
      self.id = id
      self.type = type
      self.bytes = bytes
      self.key = key
      self.upload = upload
    }
  }

  /// Longest user id in bytes, so that the names of channels stay below their limit.
  public static let maximumUserBytes = 200
  /// Longest ``Send/key`` in bytes.
  static let maximumKeyBytes = 128

  public var method: Method {
    switch self {
    case .begin: .begin
    case .send: .send
    case .seen: .seen
    case .settings: .settings
    case .block: .block
    case .unblock: .unblock
    case .addPicture: .addPicture
    case .uploadKey: .uploadKey
    case .pictureKey: .pictureKey
    case .gonePictures: .gonePictures
    }
  }

  /// What a gateway says itself.
  public var isGateways: Bool {
    switch self {
    case .addPicture, .uploadKey, .pictureKey, .gonePictures: true
    case .begin, .send, .seen, .settings, .block, .unblock: false
    }
  }

  var payloadBytes: Int {
    switch self {
    case .send(let send): send.caption?.text.utf8.count ?? 0
    case .gonePictures(let ids): ids.reduce(0) { $0 + 16 + $1.utf8.count }
    default: 0
    }
  }
}

/// What an id of a picture may be: chosen by the client, at random, so that nobody guesses another's.
public enum StatePictureID {
  public static let shortest = 22
  public static let longest = 64

  /// Letters, digits, `-` and `_`: it names a file.
  public static func isValid(_ id: String) -> Bool {
    (shortest...longest).contains(id.utf8.count)
      && id.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
      }
  }

  public static let unknown = ClientError(
    code: 435, message: "a picture is unknown, somebody else's, or sent already; upload it under a new id")
}
