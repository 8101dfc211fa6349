/// Why keys, or what they are kept in, are of no use. The description is a sentence for the operator.
public enum VaultFault: Error, Sendable, Equatable, CustomStringConvertible {
  case openToOthers(path: String, mode: String)
  case notAFile(path: String)
  case damaged(path: String)
  case system(path: String, doing: String, error: String)
  // Keys that brokers share, wrapped under a master key:
  case missingMasterKey(path: String)
  /// - line: counts from 1; nil: there is no key in the file, or too many of them.
  case malformedMasterKey(path: String, line: Int?)
  /// No master key opens the set.
  case unopened(name: String, path: String)
  /// There are shared keys, and none is known to open them.
  case noMasterKey(names: [String])
  /// The keys are in a file of the data folder, and others are shared already.
  case inBothPlaces(path: String)
  /// Another broker has the log, and the keys with it; or has home, and has not made them yet.
  case notOurs
  /// The database does not take keys, or give them.
  case unavailable(reason: String)

  public var description: String {
    switch self {
    case .openToOthers(let path, let mode):
      "\(path) has mode \(mode), so others on this machine can read or change the keys; run: chmod 600 \(path)"
    case .notAFile(let path): "\(path) is not a regular file; the keys need a file of their own"
    case .damaged(let path):
      "\(path) is damaged: restore it from where it was copied, or remove it, whereupon nothing that was sealed with "
        + "its keys can be shown any more"
    case .system(let path, let doing, let error):
      "\(doing) \(path) failed: \(error); check that the folder exists and that this user may write in it"
    case .missingMasterKey(let path):
      "\(path), which keys.master_file names, does not exist; copy it from another broker's machine, or, for a new log, "
        + "make it: (umask 077; openssl rand -hex 32 > \(path))"
    case .malformedMasterKey(let path, let line?):
      "line \(line) of \(path) is no master key; write 64 hexadecimal digits in each line, as 'openssl rand -hex 32' makes "
        + "them"
    case .malformedMasterKey(let path, nil):
      "\(path) holds no master key, or more than \(MasterKeys.most); write 64 hexadecimal digits in each line, as "
        + "'openssl rand -hex 32' makes them"
    case .unopened(let name, let path):
      "no line of \(path) opens \(name) in the log's database: put the line back that was removed or take the file of the "
        + "broker that worked last; if that key is lost, so is what was sealed, and DELETE FROM keys lets the broker begin anew"
    case .noMasterKey(let names):
      "the log's database holds \(names.joined(separator: ", ")), so the brokers share their keys; set keys.master_file to "
        + "the master key's file that the others have"
    case .inBothPlaces(let path):
      "\(path) holds keys, and the log's database holds others by that name, which count; if nothing that must be shown "
        + "was sealed with those of the file, remove it"
    case .notOurs: "another broker keeps the log now, and the keys with it"
    case .unavailable(let reason): "the log's database does not take or give keys (\(reason))"
    }
  }
}
