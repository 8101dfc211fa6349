import Foundation
import TestSupport
import Testing

/// Apps that are shared among the partitions of machines.
extension Machines {
  /// Runs the body where State is shared among three partitions; or, for what a log has that is older, where it could be.
  static func withState(
    _ names: [String] = ["one"], isShared: Bool = true, _ more: [String] = [],
    _ body: (Machines, _ pictures: URL) async throws -> Void
  ) async throws {
    let own = [
      "state.enabled=true", "state.partitioned=\(isShared)", "state.record_limit=10m", "state.upload_grace=1h",
    ]
    try await withApp(names, own + more, body)
  }

  /// The same with Clique.
  static func withClique(
    _ names: [String] = ["one"], isShared: Bool = true, _ more: [String] = [],
    _ body: (Machines, _ pictures: URL) async throws -> Void
  ) async throws {
    let own = [
      "clique.enabled=true", "clique.partitioned=\(isShared)", "clique.max_groups_per_day=1000000",
      "clique.max_invitations_per_day=1000000",
    ]
    try await withApp(names, own + more, body)
  }

  private static func withApp(
    _ names: [String], _ more: [String], _ body: (Machines, _ pictures: URL) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder in
      let pictures = folder.appendingPathComponent("pictures")
      let master = try MasterKeyFile.make(in: folder)
      let settings = [
        "keys.master_file=\(master)", "state.picture_directory=\(pictures.path)", "log.postgres.outbox_interval=2ms",
        "admin.api.key=\(key)",
      ]
      try await Machines.with(names, partitions: 3, settings: FirePlace.unlimited + settings + more) {
        try await body($0, pictures)
      }
    }
  }

  private static let key = "a-key-that-only-this-test-has"

  /// Asks the server API.
  func call(_ method: String, _ body: String) throws -> JSON { try machine("one").call(method, body, key: Self.key) }

  /// Kills the broker that has a partition's log, and waits until another process has it.
  func killOwner(of partition: Int) async throws {
    let former = try await owner(of: partition)
    kill(former, SIGKILL)
    let isFollowed = try await eventually { try await owner(of: partition) != former }
    try #require(isFollowed, "partition \(partition): nobody has followed")
  }

  /// Kills a partition's broker, or in each second round a whole machine of two, and starts that again.
  func strike(_ round: Int, _ random: inout SeededGenerator) async throws {
    guard round % 2 == 0 else { return try await killOwner(of: .random(in: 0..<partitions, using: &random)) }
    let name = Bool.random(using: &random) ? "one" : "two"
    await (try machine(name)).kill()
    for partition in 0..<partitions { _ = try await owner(of: partition) }
    try await start(name)
  }

  /// What partitions tell each other has been heard by all of them.
  func expectHeard() async throws {
    for schema in (0..<partitions).map(schema) {
      let isHeard = try await eventually { try ask("SELECT count(*)::text FROM \(schema).outbox") == ["0"] }
      #expect(isHeard, "something is still on its way out of \(schema)")
    }
  }

  /// Waits until an order to delete a user's data is done, and nothing in any partition's tables holds what stands in all
  /// that is the user's.
  func expectDeleted(_ user: String, holding marker: String) async throws {
    for partition in 0..<partitions {
      #expect(try !tables(of: partition, holding: marker).isEmpty, "partition \(partition)")
    }
    #expect(try call("user_delete", #"{"user":"\#(user)"}"#)["state"].string == "waiting")
    let isDone = try await eventually(within: DeletionDesk.patience) {
      try call("user_delete_status", #"{"user":"\#(user)"}"#)["state"].string == "done"
    }
    try #require(isDone)
    for partition in 0..<partitions {
      var left: [String] = []
      // What one partition says to another names the user until it was heard.
      let isClean = try await eventually {
        left = try tables(of: partition, holding: marker)
        return left.isEmpty
      }
      #expect(isClean, "partition \(partition): \(left)")
    }
  }

  /// All items of a user's export.
  func export(of user: String) throws -> [JSON] {
    var items: [JSON] = []
    var cursor: String?
    repeat {
      let page = try call("user_export", #"{"user":"\#(user)","cursor":\#(JSON.quoted(cursor ?? ""))}"#)
      items += page["items"].array
      cursor = page["cursor"].string
    } while cursor != nil
    return items
  }

  /// An export holds these pictures, byte by byte, and no others.
  func expect(pictures: [String: [UInt8]], in export: [JSON]) throws {
    var found: [String: [UInt8]] = [:]
    for item in export where !item["picture"].isNull {
      let id = try #require(item["picture"]["id"].string)
      let part = try #require(item["picture"]["b64data"].string.flatMap { Data(base64Encoded: $0) })
      found[id, default: []] += Array(part)
    }
    #expect(Set(found.keys) == Set(pictures.keys))
    let others = pictures.filter { found[$0.key] != $0.value }.keys.sorted()
    #expect(others == [], "they have other bytes")
  }

  /// The tables of a partition in which a text stands, as it is or in bytes.
  func tables(of partition: Int, holding text: String) throws -> [String] {
    try database.tables(in: schema(of: partition), holding: text)
  }
}
