import Cryptography

/// A picture on disk, encrypted in chunks, so that it can be taken in and given out piece by piece.
///
///     FSP2 | owner, 32 bytes | upload, 16 | size of the picture, 8 big-endian | chunk 0 | chunk 1 | …
///     chunk: nonce, 12 bytes | ciphertext | tag, 16 bytes
///
/// Each chunk holds 64 KiB, the last what is left. AES-GCM under a key that no other upload has, with a random nonce: a
/// chunk of which only a part got to the disk can be written anew, by whichever gateway goes on. What is authenticated
/// besides says which picture, which chunk, and whether it is the last: no chunk can stand elsewhere, and none can be
/// missing at the end.
///
/// A picture that is cleaned when it is whole says so by another beginning, and how long it was as it was sent:
///
///     FSC1 | owner, 32 bytes | upload, 16 | size of the picture, 8 | size as it was sent, 8 | chunk 0 | …
///
/// While it comes, both sizes are the same. What is cleaned is a file of its own, under a key that follows from the
/// upload's (``cleanedKey(_:)``): whoever cleans it again, after a crash or at another gateway, makes the same.
///
/// All that an upload under way is stands in its file, but for the key: so another gateway can go on with it.
enum PictureFile {
  static let chunkBytes = 65_536
  static let nonceBytes = 12
  static let tagBytes = 16
  static let uploadBytes = 16
  private static let ownerBytes = 32
  private static let magic = Array("FSP2".utf8)
  private static let cleanedMagic = Array("FSC1".utf8)
  private static let oldMagic = Array("FSP1".utf8)

  /// What stands before the chunks.
  struct Header: Sendable, Equatable {
    var owner: [UInt8]
    /// Drawn for each upload, so that two of the same id are told apart.
    var upload: [UInt8]
    /// Bytes of the picture.
    var total: Int
    /// Bytes of the picture as it was sent: more or fewer, where it was cleaned.
    var sent: Int
    var layout = Layout.current

    /// - Parameter sent: nil: it is as it was sent.
    init(
      id: String, user: String, upload: [UInt8], total: Int, for purpose: PicturePurpose = .state, sent: Int? = nil
    ) {
      owner = ownerTag(id: id, user: user)
      self.upload = upload
      self.total = total
      self.sent = sent ?? total
      layout = purpose == .clique ? .cleaned : .current
    }

    var purpose: PicturePurpose { layout == .cleaned ? .clique : .state }

    func isOf(_ user: String, id: String) -> Bool { owner == ownerTag(id: id, user: user) }

    /// The picture's entity tag for HTTP (RFC 9110, section 8.8.3): strong, since an upload is never changed once it is
    /// whole, and another upload of the same id has another. Of what cannot be seen in the picture, so that it says
    /// nothing about what is in this one, nor whether another is the same.
    var entityTag: String {
      let digest = Digest.sha256.hash(Array("fanfare picture tag".utf8) + [0] + owner + upload)
      return "\"" + digest.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "\""
    }

    var encoded: [UInt8] {
      let common = owner + upload + bigEndian(total)
      return layout == .cleaned ? cleanedMagic + common + bigEndian(sent) : magic + common
    }
  }

  /// How chunks stand in a file.
  enum Layout: Sendable, Equatable {
    case current
    /// Of pictures that are cleaned.
    case cleaned
    /// The layout before the current one, for pictures that were taken in then: no upload and size in the header, and
    /// the nonce is the chunk's number.
    case old

    var headerBytes: Int {
      switch self {
      case .current: 4 + ownerBytes + uploadBytes + 8
      case .cleaned: 4 + ownerBytes + uploadBytes + 16
      case .old: 4 + ownerBytes
      }
    }
    var overheadBytes: Int { self == .old ? tagBytes : nonceBytes + tagBytes }

    func place(ofChunk index: Int) -> Int { headerBytes + index * (chunkBytes + overheadBytes) }

    func fileBytes(ofPicture bytes: Int) -> Int { headerBytes + bytes + chunkCount(ofPicture: bytes) * overheadBytes }
  }

  static let longestHeader = Layout.cleaned.headerBytes

  /// The key of the file that a cleaned picture is in.
  static func cleanedKey(_ key: SecretKey) -> SecretKey {
    key.derived(info: Array("fanfare cleaned picture".utf8), count: 32)
  }

  /// - Parameter fileBytes: size of the whole file.
  /// - Throws: ``PictureFault/damaged`` where no picture's file begins so.
  static func header(_ bytes: [UInt8], fileBytes: Int) throws -> Header {
    for (layout, start) in [(Layout.current, magic), (.cleaned, cleanedMagic)]
    where bytes.count >= layout.headerBytes && bytes.starts(with: start) {
      let sizes = 4 + ownerBytes + uploadBytes
      let total = try size(bytes[sizes..<(sizes + 8)])
      return Header(
        owner: Array(bytes[4..<(4 + ownerBytes)]), upload: Array(bytes[(4 + ownerBytes)..<sizes]), total: total,
        sent: layout == .cleaned ? try size(bytes[(sizes + 8)..<(sizes + 16)]) : total, layout: layout)
    }
    guard bytes.count >= Layout.old.headerBytes, bytes.starts(with: oldMagic) else { throw PictureFault.damaged }
    let sealed = fileBytes - Layout.old.headerBytes
    let chunks = (sealed + chunkBytes + tagBytes - 1) / (chunkBytes + tagBytes)
    let total = sealed - chunks * tagBytes
    guard total > 0 else { throw PictureFault.damaged }
    return Header(owner: Array(bytes[4..<(4 + ownerBytes)]), upload: [], total: total, sent: total, layout: .old)
  }

  private static func size(_ bytes: ArraySlice<UInt8>) throws -> Int {
    let size = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard size > 0, size < 1 << 40 else { throw PictureFault.damaged }
    return Int(size)
  }

  /// Says whose the picture is without naming the user: ids are random, so that the hash cannot be looked up in a
  /// table.
  static func ownerTag(id: String, user: String) -> [UInt8] {
    Digest.sha256.hash(Array("fanfare picture of \(id)\u{0}\(user)".utf8))
  }

  static func seal(_ chunk: [UInt8], index: Int, isLast: Bool, id: String, key: SecretKey) throws -> [UInt8] {
    try AESGCM.seal(chunk, with: key, authenticating: additionalData(id, index, isLast))
  }

  static func unseal(
    _ sealed: [UInt8], index: Int, isLast: Bool, id: String, key: SecretKey, _ layout: Layout
  ) throws -> [UInt8] {
    guard sealed.count > layout.overheadBytes else { throw PictureFault.damaged }
    let data = additionalData(id, index, isLast)
    do {
      switch layout {
      case .current, .cleaned: return try AESGCM.open(sealed, with: key, authenticating: data)
      case .old:
        return try AESGCM.open(sealed[...], nonce: [0, 0, 0, 0] + bigEndian(index), with: key, authenticating: data)
      }
    } catch {
      throw PictureFault.damaged
    }
  }

  /// Where a chunk stands in its file.
  ///
  /// - Throws: ``PictureFault/damaged`` where the picture has fewer.
  static func place(ofChunk index: Int, _ header: Header) throws -> Range<Int> {
    let count = min(chunkBytes, header.total - index * chunkBytes)
    guard count > 0 else { throw PictureFault.damaged }
    let start = header.layout.place(ofChunk: index)
    return start..<(start + count + header.layout.overheadBytes)
  }

  /// A chunk of a picture that is whole, decrypted.
  static func unseal(_ sealed: [UInt8], index: Int, of header: Header, id: String, key: SecretKey) throws -> [UInt8] {
    let isLast = index == chunkCount(ofPicture: header.total) - 1
    return try unseal(sealed, index: index, isLast: isLast, id: id, key: key, header.layout)
  }

  private static func additionalData(_ id: String, _ index: Int, _ isLast: Bool) -> [UInt8] {
    Array("fanfare picture \(id)".utf8) + [0] + bigEndian(index) + [isLast ? 1 : 0]
  }

  private static func bigEndian(_ value: Int) -> [UInt8] {
    let value = UInt64(bitPattern: Int64(value))
    return stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt64($0)) }
  }

  // MARK: Sizes

  static func chunkCount(ofPicture bytes: Int) -> Int { (bytes + chunkBytes - 1) / chunkBytes }

  /// How many bytes of a picture are in a file of that size: whole chunks, or all of it. A chunk that is half there
  /// counts for nothing.
  static func offset(inFile bytes: Int, _ header: Header) -> Int {
    if bytes >= header.layout.fileBytes(ofPicture: header.total) { return header.total }
    let chunks = max(0, bytes - header.layout.headerBytes) / (chunkBytes + header.layout.overheadBytes)
    return min(chunks, chunkCount(ofPicture: header.total) - 1) * chunkBytes
  }
}

extension PictureFile.Header {
  fileprivate init(owner: [UInt8], upload: [UInt8], total: Int, sent: Int, layout: PictureFile.Layout) {
    self.owner = owner
    self.upload = upload
    self.total = total
    self.sent = sent
    self.layout = layout
  }
}
