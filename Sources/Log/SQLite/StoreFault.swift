import SQLite
import Glibc

/// Sorts the errors of SQLite into those that pass by themselves and those that are final.
package enum StoreFault {
  package static func logError(for error: any Error) -> LogError {
    if let error = error as? LogError { return error }
    guard let error = error as? DatabaseError else { return .failed("\(error)") }
    let detail = error.description
    switch error.code {
    // The index of the WAL could not grow.
    case .ioErrorSharedMemorySize: return .full(detail)
    // Nothing of the transaction counts before its last write and the fsync after it, so a refused write is harmless.
    case .ioErrorWrite where [ENOSPC, EDQUOT].contains(error.systemErrno): return .full(detail)
    case .ioErrorWrite where [EROFS, EACCES].contains(error.systemErrno): return .readOnly(detail)
    // The database file was moved or deleted while it was open: nobody would find again what is written to it.
    case .readOnlyMoved: return .failed(detail)
    default: break
    }
    switch error.code.primary {
    case .full: return .full(detail)
    case .readOnly, .cannotOpen, .permission: return .readOnly(detail)
    // The values were wrong, and the file is not.
    case .constraint, .tooBig, .mismatch, .range: return .rejected(detail)
    // Another program holds a lock, or memory is short: nothing is broken.
    case .busy, .locked, .noMemory, .interrupted: return .readOnly(detail)
    default: return .failed(detail)
    }
  }
}
