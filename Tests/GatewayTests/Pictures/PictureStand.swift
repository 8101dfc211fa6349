import Cryptography
import Foundation
import ObjectStore
import TestSupport
import Testing

@testable import Gateway

/// Where the pictures of a test are kept: the suites that say ``Trait/overBothDepots`` run once with a folder and once with
/// an object store.
enum PictureStand {
  /// Nil: a folder.
  @TaskLocal static var objects: ObjectStoreConfiguration?

  /// A part of moto's bucket that nobody else uses.
  static func configuration(
    of server: MotoServer, endpoint: String? = nil, bucket: String = "pictures"
  ) -> ObjectStoreConfiguration {
    ObjectStoreConfiguration(
      endpoint: endpoint ?? server.endpoint, bucket: bucket, region: "us-east-1", prefix: "t/\(UUID().uuidString)/",
      accessKeyID: server.accessKeyID, secretAccessKey: SecretKey(Array(server.secretAccessKey.utf8)))
  }

  /// What a store of pictures needs beside its folder; nil: nothing.
  static func depot() throws -> ObjectDepot? {
    try objects.map { ObjectDepot(try ObjectStore($0, userAgent: "tests")) { _ in } }
  }

  /// The objects in a bucket, each by the name that a file has in a folder.
  static func names(in objects: ObjectStore?) throws -> [String] {
    guard let objects else { return [] }
    return try objects.names().map { text in
      guard let name = ObjectPictureName(text) else { return "foreign " + text }
      return name.isKept ? KeptPictureName(name.id, name.upload).name : name.id
    }
  }
}

/// Runs each test once for each place where pictures may be kept.
struct OverBothDepots: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await function()
    guard runsUnlessLacking(.moto, isThere: MotoServer.isThere) else { return }
    let objects = PictureStand.configuration(of: try await MotoServer.shared())
    do {
      try await PictureStand.$objects.withValue(objects) { try await function() }
    } catch {
      Issue.record("with an object store: \(error)")
      throw error
    }
  }
}

/// For a test that looks into files of whole pictures.
struct InFolderAlone: TestTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    if PictureStand.objects == nil { try await function() }
  }
}

extension Trait where Self == OverBothDepots {
  static var overBothDepots: Self { Self() }
}

extension Trait where Self == InFolderAlone {
  static var inFolderAlone: Self { Self() }
}
