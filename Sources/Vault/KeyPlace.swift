/// Where a set of keys is kept. It is read as a whole and replaced as a whole.
///
/// Two places are there: a file of a data folder (``KeyFile``), which belongs to one broker, and a row that several brokers
/// share (``SharedKeys``), of which whoever has the log may write.
public protocol KeyPlace: Sendable {
  /// What sentences call it.
  var path: String { get }

  /// The set that is there, or an empty one where none was saved yet. May wait for a disk or a server.
  func load() throws(VaultFault) -> KeySet

  /// Puts a set in the place of the former one, and returns when nothing can take it back: what is sealed with its keys
  /// can be opened from then on. May wait for a disk or a server.
  ///
  /// - Parameter set: follows (``KeySet/next(_:)``) the one that is there.
  /// - Throws: where the former set stays; ``VaultFault/notOurs`` where somebody else keeps the place by now.
  func save(_ set: KeySet) throws(VaultFault)

  /// Calls `take` with the set that is there after somebody else may have changed it, before anything else is done with
  /// the keys. It is called on another thread, and must not call this place. What it throws keeps the broker from going on.
  func whenChanged(_ take: @escaping @Sendable (KeySet) throws(VaultFault) -> Void)

  /// Nothing is ever saved here: another broker keeps the place, in the home partition, and this one reads it.
  var isVisited: Bool { get }

  /// Reads again what is there, and tells it as after a change: in a place that is visited nobody says when it changes. May
  /// wait for a server.
  func readAgain() throws(VaultFault)
}

extension KeyPlace {
  public var isVisited: Bool { false }
  public func readAgain() throws(VaultFault) {}
}

/// A set of keys, as it is saved.
public struct KeySet: Sendable, Equatable {
  /// The set as ``HourKeys`` encodes it; empty where none was saved yet.
  public var bytes: [UInt8]
  /// How often it was saved; 0 in a file, which does not count.
  public var version: Int64
  /// The lease under which it was read; 0 in a file, which needs none. A set that follows one of another lease may follow
  /// what nobody has any more, and is not saved.
  public var lease: UInt64

  public init(bytes: [UInt8], version: Int64, lease: UInt64) {
    self.bytes = bytes
    self.version = version
    self.lease = lease
  }

  /// The set that comes after this one.
  func next(_ bytes: [UInt8]) -> KeySet { KeySet(bytes: bytes, version: version + 1, lease: lease) }
}

extension KeyFile: KeyPlace {
  func load() throws(VaultFault) -> KeySet {
    let bytes = try read()
    if bytes?.isEmpty == true { throw .damaged(path: path) }
    return KeySet(bytes: bytes ?? [], version: 0, lease: 0)
  }

  func save(_ set: KeySet) throws(VaultFault) { try replace(with: set.bytes) }

  /// Nobody else changes the file: the broker has locked its folder.
  func whenChanged(_ take: @escaping @Sendable (KeySet) throws(VaultFault) -> Void) {}
}

/// The places of key sets in a data folder.
public enum KeyFiles {
  /// - Parameters:
  ///   - name: of the file.
  ///   - folder: must exist.
  public static func place(_ name: String, in folder: String) -> any KeyPlace { file(name, in: folder) }

  static func file(_ name: String, in folder: String) -> KeyFile {
    KeyFile(folder: folder.hasSuffix("/") && folder.count > 1 ? String(folder.dropLast()) : folder, name: name)
  }
}
