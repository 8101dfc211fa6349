import SQLite
import Glibc

/// Sorts what SQLite reports into what heals by itself and what is final.
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
    // The file was moved or deleted under us: what we would write, nobody would find again.
    case .readOnlyMoved: return .failed(detail)
    default: break
    }
    switch error.code.primary {
    case .full: return .full(detail)
    case .readOnly, .cannotOpen, .permission: return .readOnly(detail)
    // Somebody's tool holds a lock, or memory is short: nothing is broken.
    // What was to be written is wrong, and the file is not.
    case .constraint, .tooBig, .mismatch, .range: return .rejected(detail)
    case .busy, .locked, .noMemory, .interrupted: return .readOnly(detail)
    default: return .failed(detail)
    }
  }
}
