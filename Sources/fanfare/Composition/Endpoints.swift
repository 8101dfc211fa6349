import Auth
import Foundation
import Wire

/// Where the server can be reached, written for scripts and tests: with port 0 the system chooses.
struct Endpoints {
  static let fileName = "endpoints.json"

  var websocket: String?
  var commands: String?
  var tap: String?
  var backbone: String?
  /// The port for backends and operators, as a URL.
  var admin: String?

  func write(to folder: String) throws {
    var writer = JSONWriter()
    writer.object { writer in
      if let websocket { writer.write("websocket", websocket) }
      if let commands { writer.write("commands", commands) }
      if let tap { writer.write("tap", tap) }
      if let backbone { writer.write("backbone", backbone) }
      if let admin { writer.write("admin", admin) }
    }
    try Data(writer.bytes).write(to: URL(fileURLWithPath: "\(folder)/\(Self.fileName)"), options: .atomic)
  }

  /// Where the server that has this data folder takes in clients; nil where none runs.
  static func websocket(in folder: String) -> String? { read("websocket", in: folder) }

  /// Where the server that has this data folder has its port for backends and operators; nil where none runs.
  static func admin(in folder: String) -> String? { read("admin", in: folder) }

  private static func read(_ name: String, in folder: String) -> String? {
    guard let data = FileManager.default.contents(atPath: "\(folder)/\(fileName)") else { return nil }
    return (try? JSONValue(parsing: Array(data)))?.object?[name]?.string
  }

  static func remove(from folder: String) {
    try? FileManager.default.removeItem(atPath: "\(folder)/\(fileName)")
  }
}

enum DataFolderSetup {
  static func create(_ folder: String) throws {
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw Complaint(
        "the data folder \(folder) cannot be made: \(error.localizedDescription). Make it yourself, or name another with "
          + "--set data.directory=FOLDER")
    }
    // A folder that was there before may be open to everybody.
    do throws(SecretFile.Fault) { try SecretFile.requirePrivate(folder: folder) } catch { throw Complaint("\(error)") }
  }
}
