import Cryptography

/// The name of a picture's object:
///
///     <id>.<upload, 32 digits>.<owner, 64 digits>.state        or .clique, and .kept behind it for moderators
///
/// All that is asked of many pictures at once stands in it, so that a list answers it and no object has to be read: which
/// ids there are, of which app, and whose they are (by the digest that the file has too, which names nobody). That another
/// upload of the same id has another name keeps a late one from taking an earlier one's place, in a store that has no
/// locks; what is under a name never changes.
struct ObjectPictureName: Sendable, Equatable {
  var id: String
  var upload: [UInt8]
  var owner: [UInt8]
  var purpose: PicturePurpose
  var isKept = false

  /// Pictures that were taken in before uploads were drawn: the only ones of their ids.
  static let noUpload = [UInt8](repeating: 0, count: PictureFile.uploadBytes)

  init(_ id: String, _ header: PictureFile.Header) {
    self.id = id
    upload = header.upload.isEmpty ? Self.noUpload : header.upload
    owner = header.owner
    purpose = header.purpose
  }

  /// - Returns: nil where the name is none of ours.
  init?(_ text: String) {
    var parts = text.split(separator: ".", omittingEmptySubsequences: false)
    if parts.count == 5, parts[4] == Self.kept {
      isKept = true
      parts.removeLast()
    }
    guard parts.count == 4, PictureRequest.isID(parts[0]),
      let upload = Self.bytes(parts[1], PictureFile.uploadBytes), let owner = Self.bytes(parts[2], 32)
    else { return nil }
    switch parts[3] {
    case Self.word(.state): purpose = .state
    case Self.word(.clique): purpose = .clique
    default: return nil
    }
    (id, self.upload, self.owner) = (String(parts[0]), upload, owner)
  }

  private static let kept: Substring = "kept"
  private static func word(_ purpose: PicturePurpose) -> Substring { purpose == .clique ? "clique" : "state" }

  var text: String {
    "\(id).\(upload.hexadecimal).\(owner.hexadecimal).\(Self.word(purpose))" + (isKept ? ".\(Self.kept)" : "")
  }

  /// What the names of all that there is of an id begin with, and of one upload of it.
  static func start(_ id: String, _ upload: [UInt8]? = nil) -> String {
    id + "." + (upload.map { $0.hexadecimal + "." } ?? "")
  }

  func isOf(_ user: String) -> Bool { owner == PictureFile.ownerTag(id: id, user: user) }

  /// Digits in lower case alone, so that each picture has one name.
  private static func bytes(_ digits: Substring, _ count: Int) -> [UInt8]? {
    guard digits.utf8.count == 2 * count else { return nil }
    var bytes: [UInt8] = []
    var rest = digits
    while !rest.isEmpty {
      guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
      bytes.append(byte)
      rest = rest.dropFirst(2)
    }
    return bytes.hexadecimal == digits ? bytes : nil
  }
}
