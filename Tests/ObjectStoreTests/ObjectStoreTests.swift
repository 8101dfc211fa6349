import Cryptography
import Foundation
import TestSupport
import Testing

@testable import ObjectStore

/// Against moto, which computes each signature itself.
@Suite("An object store", .ownThread, .skipUnlessStrict(.moto, isThere: MotoServer.isThere))
struct ObjectStoreTests {
  private func withStore(
    _ configure: (inout ObjectStoreConfiguration) -> Void = { _ in }, _ body: (ObjectStore) throws -> Void
  ) async throws {
    let server = try await MotoServer.shared()
    var configuration = ObjectStoreConfiguration(
      endpoint: server.endpoint, bucket: "pictures", region: "us-east-1", prefix: "o/\(UUID().uuidString)/",
      accessKeyID: server.accessKeyID, secretAccessKey: SecretKey(Array(server.secretAccessKey.utf8)))
    configuration.timeoutMilliseconds = 600_000
    configure(&configuration)
    let store = try ObjectStore(configuration, userAgent: "tests")
    defer { store.close() }
    try body(store)
  }

  @Test("what is put is read, in parts, copied and deleted")
  func life() async throws {
    try await withStore { store throws in
      var generator = SeededGenerator(seed: 1)
      let bytes = (0..<300_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
      #expect(throws: ObjectStoreFault.missing) { try store.read("a.b-c_d", at: 0, count: 1) }
      try store.put("a.b-c_d", bytes)
      for (offset, count) in [(0, 1), (0, 300_000), (299_999, 1), (100, 65_536), (299_000, 5_000)] {
        let (part, total) = try store.read("a.b-c_d", at: offset, count: count)
        #expect(total == 300_000 && part == Array(bytes[offset..<min(300_000, offset + count)]))
      }
      #expect(throws: ObjectStoreFault.outside) { try store.read("a.b-c_d", at: 300_000, count: 1) }
      try store.copy("a.b-c_d", to: "a.b-c_d.kept")
      #expect(try store.names().sorted() == ["a.b-c_d", "a.b-c_d.kept"])
      for _ in 0..<2 { try store.delete("a.b-c_d") }
      #expect(try store.names() == ["a.b-c_d.kept"])
      #expect(try store.read("a.b-c_d.kept", at: 5, count: 5).bytes == Array(bytes[5..<10]))
      #expect(throws: ObjectStoreFault.self) { try store.copy("a.b-c_d", to: "n") }
      #expect(try store.names() == ["a.b-c_d.kept"])
      try store.put("empty", [])
      #expect(throws: ObjectStoreFault.self) { try store.read("empty", at: 0, count: 1) }
    }
  }

  @Test("lists have all names, page by page, and those of a beginning alone")
  func lists() async throws {
    try await withStore({ $0.namesPerPage = 3 }) { store throws in
      let names = (0..<11).map { "a\($0 + 10).x" } + ["b%2F+ c&<é>", "b"]
      for name in names { try store.put(name, [1]) }
      #expect(try Set(store.names()) == Set(names))
      #expect(try store.names(beginningWith: "a1") == names.prefix(10).map(\.self))
      #expect(try store.names(beginningWith: "a20.") == ["a20.x"])
      #expect(try store.names(beginningWith: "c") == [])
    }
  }

  @Test("whether a bucket keeps versions is asked, and whoever may not ask is told so")
  func versioning() async throws {
    for (bucket, wanted) in [("pictures", BucketVersioning.off), ("versioned", .on), ("suspended", .suspended)] {
      try await withStore({ $0.bucket = bucket }) { store throws in #expect(try store.versioning() == wanted) }
    }
    try await withStore({ $0.bucket = "locked" }) { store throws in
      guard case .notAllowed? = Self.fault({ _ = try store.versioning() }) else {
        Issue.record("the key may not ask")
        return
      }
    }
  }

  @Test("a wrong secret, a key of nobody's and a bucket that is not there are refused with a sentence that says why")
  func refused() async throws {
    let wrong: [(why: String, configure: (inout ObjectStoreConfiguration) -> Void)] = [
      ("SignatureDoesNotMatch", { $0.secretAccessKey = SecretKey(Array("wrong".utf8)) }),
      ("NoSuchBucket", { $0.bucket = "nobodys" }), ("InvalidAccessKeyId", { $0.accessKeyID = "AKIANOBODY" }),
    ]
    for (why, configure) in wrong {
      try await withStore(configure) { store throws in
        for call in [{ try store.put("a", [1]) }, { _ = try store.names() }] as [() throws -> Void] {
          guard case .refused(let sentence)? = Self.fault(call) else {
            Issue.record("it is not refused for \(why)")
            continue
          }
          #expect(sentence.contains(why))
        }
      }
    }
  }

  private static func fault(_ call: () throws -> Void) -> ObjectStoreFault? {
    do { try call() } catch { return error as? ObjectStoreFault }
    return nil
  }

  @Test("a store that is not there, or says nothing, or was closed, is unavailable: it may have done it")
  func unavailable() async throws {
    try await withStore({ $0.endpoint = "http://127.0.0.1:1" }) { store throws in
      #expect(Self.fault { try store.put("a", [1]) }?.leavesDoubt == true)
    }
    let server = try await MotoServer.shared()
    let proxy = try SocketProxy(at: "0", to: "\(server.port)")
    defer { proxy.close() }
    proxy.set(.paused)
    try await withStore({
      $0.endpoint = "http://127.0.0.1:\(proxy.port)"
      $0.timeoutMilliseconds = 200
    }) { store throws in
      #expect(Self.fault { _ = try store.names() }?.leavesDoubt == true)
      store.close()
      #expect(Self.fault { _ = try store.names() }?.leavesDoubt == true)
    }
  }
}
