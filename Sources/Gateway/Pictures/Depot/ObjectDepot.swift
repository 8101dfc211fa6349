import Cryptography
import ObjectStore
import Synchronization
import Wire

/// Whole pictures in a bucket of an S3-compatible store, an object each (``ObjectPictureName``). All gateways of a broker,
/// and the broker, use the same bucket and prefix; they share no folder.
///
/// What is asked of the store of one picture begins with a list of the names of its id: stores answer that as of now, no
/// copy of it has to be kept here, and nothing has to be forgotten when another gateway deletes.
final class ObjectDepot: PictureDepot {
  private let store: ObjectStore
  private let room = WindowRoom()
  private let warn: @Sendable (String) -> Void
  /// Whether it is known that what is deleted from the bucket is gone, or that nobody can say.
  private let isChecked = Mutex(false)

  /// - Parameter warn: tells the operator something, in a sentence.
  init(_ store: ObjectStore, warn: @escaping @Sendable (String) -> Void) {
    self.store = store
    self.warn = warn
  }

  var sharesUploads: Bool { false }
  var absence: String {
    "a picture that may be seen is not in the bucket of pictures; all gateways of a broker need the same one: set pictures.s3"
  }
  var blindness: String? { nil }

  func close() { store.close() }

  // MARK: Versions

  /// Looks whether the bucket keeps what is deleted.
  ///
  /// - Throws: a sentence, where it does. A store that cannot be reached now is asked before the first picture is put there.
  func check() throws(ObjectStoreFault) {
    let bucket = store.configuration.bucket
    do throws(ObjectStoreFault) {
      switch try store.versioning() {
      case .off: break
      case .on:
        throw ObjectStoreFault.invalid(
          "the bucket \(bucket) keeps versions, so pictures that are destroyed would still be there; use a bucket that never had versions, or run: aws s3api put-bucket-versioning --bucket \(bucket) --versioning-configuration Status=Suspended, and delete the versions that it has"
        )
      case .suspended:
        warn(
          "the bucket \(bucket) has kept versions before; what was deleted or overwritten then is still there: delete its noncurrent versions"
        )
      }
    } catch .notAllowed(let sentence) {
      warn(
        "nobody can say whether the bucket \(bucket) keeps versions of what is deleted, in which case nothing would be destroyed; see to it yourself, or allow s3:GetBucketVersioning: \(sentence)"
      )
    }
    isChecked.withLock { $0 = true }
  }

  // MARK: Reading

  func open(_ id: String, _ upload: [UInt8]?, key: [UInt8]?, _ window: PictureWindow) throws -> any WholePicture {
    if let object = window.object { return ObjectPicture(store: store, object: object, window: window, room: room) }
    let found = try names(id, upload).filter { upload != nil || !$0.isKept }
    // Of one upload, what stands under the id and what is kept are the same.
    let candidates = upload == nil ? found : Array(found.prefix(1))
    for (number, name) in candidates.enumerated() {
      let isLast = number == candidates.count - 1
      do {
        let picture = try open(name, window)
        if isLast || key.map({ Self.opens(picture, id, $0) }) ?? true { return picture }
      } catch PictureFault.missing where !isLast {
        // It was deleted since it was listed.
      }
      window.clear()
    }
    throw PictureFault.missing
  }

  private func open(_ name: ObjectPictureName, _ window: PictureWindow) throws -> ObjectPicture {
    let (bytes, total) = try Self.translated { () throws(ObjectStoreFault) in
      try store.read(name.text, at: 0, count: window.first(room))
    }
    let header = try PictureFile.header(bytes, fileBytes: total)
    let object = PictureWindow.Object(name: name.text, header: header, fileBytes: total)
    window.object = object
    window.fill(bytes, at: 0)
    return ObjectPicture(store: store, object: object, window: window, room: room)
  }

  /// Whether it is this key's upload: where a gateway ended too late, there are two of an id until that is found out.
  private static func opens(_ picture: ObjectPicture, _ id: String, _ key: [UInt8]) -> Bool {
    let key = PictureStore.fileKey(SecretKey(key), picture.header)
    return (try? PictureStore.chunk(0, of: picture, id: id, key: key)) != nil
  }

  private func names(_ id: String, _ upload: [UInt8]? = nil) throws -> [ObjectPictureName] {
    try Self.translated { () throws(ObjectStoreFault) in
      try store.names(beginningWith: ObjectPictureName.start(id, upload)).compactMap { ObjectPictureName($0) }
    }
  }

  // MARK: Taking in

  func take(_ path: String, id: String, isKept: Bool) throws {
    if !isChecked.withLock({ $0 }) {
      try Self.translated { () throws(ObjectStoreFault) in try check() }
    }
    let file = try OpenPicture.reading(path)
    let header = try file.header()
    let bytes = try file.bytes(at: 0, count: try file.size)
    guard bytes.count == header.layout.fileBytes(ofPicture: header.total) else { throw PictureFault.damaged }
    var name = ObjectPictureName(id, header)
    name.isKept = isKept
    try Self.translated { [text = name.text] () throws(ObjectStoreFault) in try store.put(text, bytes) }
  }

  func takeBack(_ id: String, _ upload: [UInt8]) -> Bool {
    isDone {
      for name in try names(id, upload) where !name.isKept { try delete(name) }
    }
  }

  // MARK: Deleting

  func remove(_ id: String, keeping uploads: [[UInt8]]) -> Bool {
    isDone {
      for name in try names(id) where !name.isKept {
        if uploads.contains(name.upload) {
          var kept = name
          kept.isKept = true
          try Self.translated { [kept] () throws(ObjectStoreFault) in try store.copy(name.text, to: kept.text) }
        }
        try delete(name)
      }
    }
  }

  func release(_ id: String, _ upload: [UInt8]) -> Bool {
    isDone {
      for name in try names(id, upload) where name.isKept { try delete(name) }
    }
  }

  private func delete(_ name: ObjectPictureName) throws {
    try Self.translated { () throws(ObjectStoreFault) in try store.delete(name.text) }
  }

  private func isDone(_ body: () throws -> Void) -> Bool {
    do {
      try body()
      return true
    } catch {
      warn(
        "pictures that are to be deleted are still there: \((error as? PictureFault).map(Self.sentence) ?? "\(error)")")
      return false
    }
  }

  private static func sentence(_ fault: PictureFault) -> String {
    if case .unavailable(let sentence) = fault { sentence } else { "\(fault)" }
  }

  func sync() throws {}

  // MARK: Lists

  func pictures(_ id: String?) throws -> [StoredPicture] {
    var pictures: [String: StoredPicture] = [:]
    for name in try all(id) {
      var picture = pictures[name.id] ?? StoredPicture(id: name.id)
      picture.purpose = name.purpose
      if name.isKept { picture.kept.append(name.upload) } else { picture.stands = true }
      pictures[name.id] = picture
    }
    return pictures.values.sorted { $0.id < $1.id }
  }

  private func all(_ id: String? = nil) throws -> [ObjectPictureName] {
    if let id { return try names(id) }
    return try Self.translated { () throws(ObjectStoreFault) in
      try store.names().compactMap { ObjectPictureName($0) }
    }
  }

  func purpose(of picture: StoredPicture) -> PicturePurpose? { picture.purpose }

  func pictures(ofOneOf users: [String]) throws -> [PictureFate] {
    if users.isEmpty { return [] }
    return try all().filter { name in users.contains { name.isOf($0) } }.map { name in
      PictureFate(id: name.id, isGone: !name.isKept, released: name.isKept ? [name.upload] : [])
    }
  }

  /// What the store says, as a picture's fault.
  static func translated<Value>(_ body: () throws(ObjectStoreFault) -> Value) throws(PictureFault) -> Value {
    do throws(ObjectStoreFault) { return try body() } catch {
      switch error {
      case .missing: throw .missing
      case .outside: throw .damaged
      case .refused, .notAllowed, .unavailable, .invalid: throw .unavailable("\(error)")
      }
    }
  }
}

/// A picture's object, read in stretches.
private struct ObjectPicture: WholePicture {
  let store: ObjectStore
  let object: PictureWindow.Object
  let window: PictureWindow
  let room: WindowRoom

  var header: PictureFile.Header { object.header }
  var fileBytes: Int { object.fileBytes }

  func bytes(at offset: Int, count: Int) throws -> [UInt8] {
    let count = min(count, fileBytes - offset)
    guard count > 0 else { return [] }
    if let bytes = window.bytes(at: offset, count: count) { return bytes }
    let reach = window.reach(from: offset, count: count, of: object, room)
    let (bytes, total) = try ObjectDepot.translated { () throws(ObjectStoreFault) in
      try store.read(object.name, at: offset, count: reach)
    }
    // What is under a name never changes.
    guard total == fileBytes, bytes.count >= count else { throw PictureFault.damaged }
    window.fill(bytes, at: offset)
    return Array(bytes.prefix(count))
  }
}
