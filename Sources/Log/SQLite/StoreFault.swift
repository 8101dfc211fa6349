import GRDB
import GRDBSQLite
import Glibc

/// Sorts what SQLite reports into what heals by itself and what is final.
package enum StoreFault {
  /// - Parameter systemErrno: the `errno` behind the error, 0 where unknown.
  package static func logError(for error: any Error, systemErrno: Int32 = 0) -> LogError {
    if let error = error as? LogError { return error }
    guard let error = error as? DatabaseError else { return .failed("\(error)") }
    let detail = "\(error.message ?? "no message"), SQLite code \(error.extendedResultCode.rawValue)"
    switch error.extendedResultCode {
    // The index of the WAL could not grow.
    case .SQLITE_IOERR_SHMSIZE: return .full(detail)
    // Nothing of the transaction counts before its last write and the fsync after it, so a refused write is harmless.
    case .SQLITE_IOERR_WRITE where systemErrno == ENOSPC || systemErrno == EDQUOT: return .full(detail)
    case .SQLITE_IOERR_WRITE where systemErrno == EROFS || systemErrno == EACCES: return .readOnly(detail)
    // The file was moved or deleted under us: what we would write, nobody would find again.
    case .SQLITE_READONLY_DBMOVED: return .failed(detail)
    default: break
    }
    switch error.resultCode {
    case .SQLITE_FULL: return .full(detail)
    case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM: return .readOnly(detail)
    // Somebody's tool holds a lock, or memory is short: nothing is broken.
    // What was to be written is wrong, and the file is not.
    case .SQLITE_CONSTRAINT, .SQLITE_TOOBIG, .SQLITE_MISMATCH, .SQLITE_RANGE: return .rejected(detail)
    case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_NOMEM, .SQLITE_INTERRUPT: return .readOnly(detail)
    default: return .failed(detail)
    }
  }

  /// The `errno` behind the connection's last error.
  static func systemErrno(of db: Database) -> Int32 {
    guard let connection = unsafe db.sqliteConnection else { return 0 }
    return unsafe sqlite3_system_errno(connection)
  }
}
