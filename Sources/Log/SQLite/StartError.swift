/// Why the log could not be opened. The description is for the operator.
public enum StartError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Another process holds the folder.
  case inUse(folder: String)
  case unusableFolder(String, reason: String)
  /// The database file is not whole, or is not a database.
  case damaged(String, reason: String)
  /// A newer Fanfare wrote the database file.
  case newerSchema(String)

  public var description: String {
    switch self {
    case .inUse(let folder):
      "another broker is using the data folder \(folder); stop it, or give this one a folder of its own"
    case .unusableFolder(let folder, let reason):
      "the data folder \(folder) cannot be used (\(reason)); make sure that it exists and can be written"
    case .damaged(let path, let reason):
      "\(path) is damaged (\(reason)); restore it from a backup, or move it away to start with an empty log"
    case .newerSchema(let path):
      "\(path) was written by a newer version of Fanfare; run that version, or a later one"
    }
  }
}
