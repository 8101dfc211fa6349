import CSQLite
import Synchronization

/// Files of databases as SQLite has them, with one thing added: where a page of a tree is written to a database, its gap is
/// written as zeros.
///
/// The gap is what a page has free between the list of its rows and the rows. `secure_delete` overwrites a row where it
/// stands when it is deleted; but rows that move to another page, because a tree is balanced, leave copies of themselves
/// in gaps, which nobody overwrites when the row is deleted at last. SQLite reads no gap, so zeros are as good there as
/// anything.
///
/// The write-ahead log is written as SQLite has it, since sums of its pages stand beside them:
/// ``Database/checkpointAndTruncate()`` empties it.
///
/// A database with `auto_vacuum` has pages that are none of a tree and begin like one; ``Database`` refuses it.
///
/// Not overwritten are pages of a database so large that a page of a tree may be mistaken (``isTree(_:pageSize:_:)``): of
/// 64 GiB and more, with pages of 4 KiB.
///
/// Source: the layout of pages in <https://www.sqlite.org/fileformat2.html#b_tree_pages>.
enum OverwritingFiles {
  // MARK: The file of a database

  /// What a file of the system can do, with our way of writing. SQLite is given the first field's address, by which the
  /// whole is found again.
  @unsafe
  private struct Methods {
    var own: sqlite3_io_methods
    let system: UnsafePointer<sqlite3_io_methods>
  }

  /// Where our methods are, by where the system's are, of which it has some for each way of locking; kept for the process.
  private static let addresses = Mutex<[UInt: UInt]>([:])

  /// Has the database's file written with gaps of zeros from now on.
  ///
  /// - Parameter database: an open connection. Where its database is in memory alone, there is no file, and nothing to do.
  /// - Throws: where SQLite does not say what the file is.
  static func take(_ database: OpaquePointer) throws(DatabaseError) {
    var pointer: UnsafeMutablePointer<sqlite3_file>?
    let code = unsafe withUnsafeMutablePointer(to: &pointer) { place in
      unsafe sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, place)
    }
    guard code == SQLITE_OK, let file = unsafe pointer else { throw unsafe Database.error(code, database) }
    guard let system = unsafe file.pointee.pMethods else { return }
    let address = addresses.withLock { addresses in
      let key = UInt(bitPattern: system)
      if let known = addresses[key] { return known }
      let made = UnsafeMutablePointer<Methods>.allocate(capacity: 1)
      unsafe made.initialize(to: Methods(own: system.pointee, system: system))
      unsafe made.pointee.own.xWrite = { file, bytes, count, offset in
        guard let file = unsafe file, let bytes = unsafe bytes else { return SQLITE_IOERR }
        let page = unsafe UnsafeRawBufferPointer(start: bytes, count: Int(count))
        return unsafe OverwritingFiles.write(page, at: offset, to: file)
      }
      addresses[key] = UInt(bitPattern: made)
      return UInt(bitPattern: made)
    }
    unsafe file.pointee.pMethods = UnsafePointer(bitPattern: address)
  }

  private static func write(
    _ page: UnsafeRawBufferPointer, at offset: Int64, to file: UnsafeMutablePointer<sqlite3_file>
  ) -> CInt {
    guard let methods = unsafe file.pointee.pMethods,
      let write = unsafe UnsafeRawPointer(methods).assumingMemoryBound(to: Methods.self).pointee.system.pointee.xWrite
    else { return SQLITE_IOERR }
    guard let gap = unsafe gap(of: page, at: offset), unsafe page[gap].contains(where: { $0 != 0 }),
      unsafe isTree(page[headerStart(at: offset)], pageSize: page.count, file)
    else { return unsafe write(file, page.baseAddress, CInt(page.count), offset) }
    return unsafe withUnsafeTemporaryAllocation(byteCount: page.count, alignment: 8) { copy in
      unsafe copy.copyMemory(from: page)
      unsafe UnsafeMutableRawBufferPointer(rebasing: copy[gap]).initializeMemory(as: UInt8.self, repeating: 0)
      return unsafe write(file, copy.baseAddress, CInt(copy.count), offset)
    }
  }

  // MARK: Pages

  /// A page's header follows that of the database on the first page.
  private static func headerStart(at offset: Int64) -> Int { offset == 0 ? 100 : 0 }

  /// The bytes between the list of a page's rows and its rows; nil: what is written is not a whole page, or none of a
  /// tree.
  static func gap(of page: UnsafeRawBufferPointer, at offset: Int64) -> Range<Int>? {
    let isWhole = page.count >= 512 && page.count.nonzeroBitCount == 1 && offset % Int64(page.count) == 0
    guard isWhole else { return nil }
    let start = headerStart(at: offset)
    let header: Int
    switch unsafe page[start] {
    case 2, 5: header = 12  // An inner page of an index, or of a table.
    case 10, 13: header = 8  // A leaf.
    default: return nil
    }
    let number = { (at: Int) in unsafe Int(page[start + at]) << 8 | Int(page[start + at + 1]) }
    let listEnd = start + header + 2 * number(3)
    let rows = number(5) == 0 ? 65536 : number(5)
    return listEnd < rows && rows <= page.count ? listEnd..<rows : nil
  }

  /// Whether a page that begins as one of a tree is one. Other pages begin with the number of a page, four bytes of
  /// which the first is that large only in a file of as many pages. Half as many are the limit, since the file may be
  /// about to grow.
  private static func isTree(_ first: UInt8, pageSize: Int, _ file: UnsafeMutablePointer<sqlite3_file>) -> Bool {
    var size: Int64 = 0
    guard unsafe file.pointee.pMethods?.pointee.xFileSize?(file, &size) == SQLITE_OK else { return false }
    return size / Int64(pageSize) < Int64(first) << 23
  }
}
