import Log
import Logging
import Settings
import Vault

/// The keys of the apps, from the settings: in files of the data folder, or beside the log in its database.
struct KeySetup {
  private let folder: String
  /// Nil: the keys are in files.
  private let shared: SharedKeys?

  /// Says what is wrong with the master key's file before somebody waits for the log.
  static func check(_ settings: Settings) throws {
    let file = settings.keys.masterFile
    if file.isEmpty { return }
    do throws(VaultFault) { _ = try MasterKeys.load(file) } catch { throw Complaint("\(error)") }
  }

  /// Opens the keys. To be called when this broker has the log. In another partition than home they are home's, which are
  /// read alone.
  ///
  /// - Parameter table: where keys can be beside the log; nil: nowhere.
  init(for settings: Settings, table: PostgresKeys?, logger: Logger) throws {
    folder = settings.data.homeDirectory
    let file = settings.keys.masterFile
    let isHome = settings.cluster.isHome
    if !isHome, file.isEmpty {
      throw Complaint(
        "apps that are shared among partitions need keys in the log's database: name a master key's file with "
          + "keys.master_file")
    }
    guard let table, settings.clique.enabled || settings.state.enabled else {
      shared = nil
      return
    }
    let boxes = EngineKeys(table: table)
    do throws(VaultFault) {
      if file.isEmpty {
        shared = nil
        let names = try boxes.all().boxes.map(\.name)
        // With files of its own this broker would open nothing of what the others have sealed, and they nothing of its.
        if !names.isEmpty { throw .noMasterKey(names: names) }
      } else {
        shared = try SharedKeys(boxes, masterFile: file, isVisitor: !isHome, logger: logger)
      }
    } catch {
      throw Complaint("\(error)")
    }
  }

  func place(_ name: String) throws(VaultFault) -> any KeyPlace {
    try shared?.place(name, takingOverFrom: folder) ?? KeyFiles.place(name, in: folder)
  }
}

/// The table of wrapped keys in the log's database, as the vault uses it.
private struct EngineKeys: KeyBoxes {
  let table: PostgresKeys

  func all() throws(VaultFault) -> (boxes: [KeyBox], lease: UInt64) {
    do throws(LogError) {
      let (rows, lease) = try table.all()
      return (rows.map(KeyBox.init), lease)
    } catch {
      throw VaultFault(error)
    }
  }

  func replace(_ box: KeyBox, under lease: UInt64) throws(VaultFault) {
    do throws(LogError) {
      try table.replace(KeyRow(name: box.name, version: box.version, box: box.box), under: lease)
    } catch {
      throw VaultFault(error)
    }
  }

  func whenRegained(_ take: @escaping @Sendable ([KeyBox], UInt64) throws(VaultFault) -> Void) {
    table.whenRegained { rows, lease in try take(rows.map(KeyBox.init), lease) }
  }
}

extension KeyBox {
  fileprivate init(_ row: KeyRow) { self.init(name: row.name, version: row.version, box: row.box) }
}

extension VaultFault {
  fileprivate init(_ error: LogError) {
    self = error == .fenced ? .notOurs : .unavailable(reason: "\(error)")
  }
}
