/// A command of the app State (`docs/STATE.md`), read and checked; or one that a gateway itself gives about pictures,
/// which is never read from JSON.
public indirect enum StateCommand: Sendable, Equatable {
  case begin(to: String)
  case send(Send)
  case seen(with: String)
  /// A device of the caller's has what is new in the thread.
  case delivered(with: String)
  /// - limit: milliseconds; nil changes nothing, 0 sets the server's own limit.
  case settings(limit: Int64?)
  case block(String)
  case unblock(String)
  case react(Reaction)
  /// Gives up a recorder that is open.
  case cancel(Cancel)
  /// Discards pictures that were uploaded, or are coming, and not sent.
  case discard([String])
  // Commands of gateways.
  case addPicture(Picture)
  /// Asks for the key of an upload that another gateway began.
  case uploadKey(id: String, upload: [UInt8])
  case pictureKey(id: String)
  /// Asks which of these pictures nobody can ever see again.
  case gonePictures([String])
  /// Discards an upload as its owner says over HTTP.
  case discardUpload(id: String)
  /// Asks the partition of the sender for what another one needs to send pictures that lie with it (``Send/lent``).
  case lend(Lending)
  /// Says that a send for which pictures were lent was refused, so that they can be used for another.
  case giveBack(Lending)

  /// The commands without their contents; the raw value stands for a command on the link.
  public enum Method: UInt8, Sendable, CaseIterable {
    case begin = 1
    case send, seen, settings, block, unblock, addPicture, uploadKey, pictureKey, gonePictures
    case react, cancel, discard, discardUpload, delivered, lend, giveBack

    public var name: String {
      switch self {
      case .begin: "state.begin"
      case .send: "state.send"
      case .seen: "state.seen"
      case .delivered: "state.delivered"
      case .settings: "state.settings"
      case .block: "state.block"
      case .unblock: "state.unblock"
      case .react: "state.react"
      case .cancel: "state.cancel"
      case .discard: "state.discard"
      case .discardUpload: "state.picture.discard"
      case .lend: "state.picture.lend"
      case .giveBack: "state.picture.back"
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
    /// Nil: the picture has none. Never an empty text.
    public var caption: Caption?
    /// Milliseconds that the receiver has to record the answer.
    public var replyLimit: Int64?
    /// The key by which the client knows this send. Never empty.
    public var key: String?
    /// What the sender's partition has answered to ``StateCommand/lend(_:)``; empty: the pictures lie in the thread's
    /// partition, or nothing was lent. Gateways alone set it.
    public var lent: [UInt8] = []
  }

  public struct Caption: Sendable, Equatable {
    public var text: String
    /// The number of characters as a reader counts them, not of code points.
    public var characters: Int
  }

  /// What somebody says to what was revealed.
  public struct Reaction: Sendable, Equatable {
    public var with: String
    /// One character (``StateReaction``); nil takes back what was said before.
    public var text: String?
  }

  /// A recorder that its user gives up, with what was recorded.
  public struct Cancel: Sendable, Equatable {
    public var to: String
    /// Pictures to discard, at most ``maximumDiscarded``.
    public var pictures: [String]
  }

  /// Two pictures that lie in the partition of their owner, and are to be sent in a thread of another one.
  public struct Lending: Sendable, Equatable {
    /// The other person of the thread.
    public var to: String
    public var front: String
    public var rear: String
    /// Tells one attempt to send them from others: random.
    public var attempt: UInt64

    public init(to: String, front: String, rear: String, attempt: UInt64) {
      self.to = to
      self.front = front
      self.rear = rear
      self.attempt = attempt
    }
  }

  public struct Picture: Sendable, Equatable {
    public var id: String
    /// The picture's media type; nil: the picture is still to come.
    public var type: String?
    public var bytes: Int64
    public var key: [UInt8]
    /// Tells this upload from others that there may have been under the id.
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
  /// Most pictures that one command discards.
  static let maximumDiscarded = 16
  /// Longest ``Send/key`` in bytes.
  static let maximumKeyBytes = 128

  public var method: Method {
    switch self {
    case .begin: .begin
    case .send: .send
    case .seen: .seen
    case .delivered: .delivered
    case .settings: .settings
    case .block: .block
    case .unblock: .unblock
    case .react: .react
    case .cancel: .cancel
    case .discard: .discard
    case .discardUpload: .discardUpload
    case .lend: .lend
    case .giveBack: .giveBack
    case .addPicture: .addPicture
    case .uploadKey: .uploadKey
    case .pictureKey: .pictureKey
    case .gonePictures: .gonePictures
    }
  }

  /// Whether only a gateway itself gives the command.
  public var isGateways: Bool {
    switch self {
    case .addPicture, .uploadKey, .pictureKey, .gonePictures, .discardUpload, .lend, .giveBack: true
    case .begin, .send, .seen, .delivered, .settings, .block, .unblock, .react, .cancel, .discard: false
    }
  }

  var payloadBytes: Int {
    switch self {
    case .send(let send): (send.caption?.text.utf8.count ?? 0) + send.lent.count
    case .gonePictures(let ids), .discard(let ids): ids.reduce(0) { $0 + 16 + $1.utf8.count }
    default: 0
    }
  }
}

/// The form of a picture's id, which the client chooses at random, so that nobody guesses another's.
public enum StatePictureID {
  public static let shortest = 22
  public static let longest = 64

  /// Whether a text is such an id: letters, digits, `-` and `_` alone, because it names a file.
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
