import Foundation
import Wire

/// A new folder with the export of a user's data, for its owner alone: `items.jsonl` has an item a line, and `pictures` a
/// file for each picture, which its line names.
final class ExportFolder {
  /// The levels of JSON around a payload: a page, its list, an item.
  static let levels = 3

  private let url: URL
  private let items: FileHandle
  private var picture: (id: String, file: FileHandle, bytes: UInt64)?
  private(set) var pictureCount = 0

  /// - Parameter path: must not exist yet, so that exports of two people never mix.
  init(_ path: String) throws {
    url = URL(fileURLWithPath: path, isDirectory: true)
    let files = FileManager.default
    guard !files.fileExists(atPath: path) else {
      throw Complaint("\(path) is there already; name a folder that is not")
    }
    let pictures = url.appendingPathComponent("pictures", isDirectory: true)
    do {
      try files.createDirectory(
        at: pictures, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
      items = try Self.file(url.appendingPathComponent("items.jsonl"))
    } catch {
      throw Complaint("\(path) cannot be made: \(error.localizedDescription)")
    }
  }

  private static func file(_ url: URL) throws -> FileHandle {
    guard
      FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else { throw CocoaError(.fileWriteUnknown) }
    return try FileHandle(forWritingTo: url)
  }

  /// Takes a page in.
  ///
  /// - Returns: the cursor of the next page; nil: this was the last.
  func add(_ page: String) throws -> String? {
    guard let page = try? JSONValue(parsing: Array(page.utf8), levels: Self.levels), let fields = page.object,
      let list = fields["items"]?.array
    else { throw Complaint("the broker's answer is no page of an export; is it of the same version as this command?") }
    for item in list {
      if let picture = item.object?["picture"]?.object {
        try add(picture)
      } else {
        try write(Array(item.bytes))
      }
    }
    return fields["cursor"]?.string
  }

  private func add(_ fields: JSONObject) throws {
    guard let id = fields["id"]?.string, id.utf8.allSatisfy(Self.isOfID),
      let type = fields["type"]?.string, let total = fields["bytes"].flatMap({ UInt64($0.text) })
    else { throw Complaint("the broker's answer has a picture without an id, a type or a size") }
    guard let text = fields["b64data"]?.string else { return try write(Self.line(fields, file: nil)) }
    guard let bytes = Base64.standard.bytes(text), let start = fields["from"].flatMap({ UInt64($0.text) }) else {
      throw Complaint("the broker's answer has a part of a picture that cannot be read")
    }
    let name = "pictures/\(id)\(Self.ending(of: type))"
    if start == 0 { picture = (id, try Self.file(url.appendingPathComponent(name)), 0) }
    guard var open = picture, open.id == id, open.bytes == start else {
      throw Complaint("a part of picture \(id) is missing in the broker's answers; export again")
    }
    try open.file.write(contentsOf: Data(bytes))
    open.bytes += UInt64(bytes.count)
    picture = open
    guard open.bytes >= total else { return }
    try open.file.close()
    picture = nil
    pictureCount += 1
    try write(Self.line(fields, file: name))
  }

  /// What the broker says of a picture, with the file's name in place of the bytes.
  private static func line(_ fields: JSONObject, file: String?) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.object("picture") { writer in
        for (key, value) in fields.members where key != "b64data" && key != "from" {
          writer.write(named: key, raw: Array(value.bytes))
        }
        if let file { writer.write("file", file) }
      }
    }
    return writer.bytes
  }

  private func write(_ line: [UInt8]) throws { try items.write(contentsOf: Data(line + [UInt8(ascii: "\n")])) }

  private static func isOfID(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  private static func ending(of type: String) -> String {
    switch type {
    case "image/jpeg": ".jpg"
    case "image/png": ".png"
    case "image/webp": ".webp"
    case "image/heic": ".heic"
    default: ""
    }
  }
}
