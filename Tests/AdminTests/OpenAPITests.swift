import Auth
import Foundation
import TestSupport
import Testing
import Wire

@testable import Admin
@testable import Broker

@Suite("The description of the server API")
struct OpenAPITests {
  private static func document() throws -> JSONValue { try JSONValue(parsing: OpenAPI.document, equalKeys: .refused) }

  /// A value of the document, by the names that lead there.
  private static func value(_ path: String...) throws -> JSONValue {
    var value = try document()
    for name in path { value = try #require(value.object?[name], "\(name) of \(path)") }
    return value
  }

  private static func keys(_ value: JSONValue) -> Set<String> { Set(value.object?.members.map(\.key) ?? []) }

  private static func methods(_ extra: String) -> Set<String> {
    Set(APIMethod.allCases.map(\.rawValue)).union([extra])
  }

  @Test("What is built in is docs/openapi.json, byte by byte; `make openapi` makes it anew")
  func builtIn() throws {
    let file = ServerProcess.repository.appending(path: "docs/openapi.json")
    #expect(try Data(contentsOf: file) == Data(OpenAPI.document))
  }

  @Test("Each method has a path, a command of a batch and a reply; there is no other but what operators read")
  func methods() throws {
    let paths = try #require(try Self.value("paths").object)
    let posted = paths.members.filter { $0.value.object?.has("post") == true }.map(\.key)
    #expect(Set(posted) == Set(Self.methods("batch").map { "/api/\($0)" }))
    let read = paths.members.filter { $0.value.object?.has("get") == true }.map(\.key)
    #expect(Set(read) == ["/health", "/ready", "/metrics", "/api/openapi.json"])
    #expect(posted.count + read.count == paths.members.count)
    let commands = try Self.value("components", "schemas", "Command", "properties")
    #expect(Self.keys(commands) == Set(APIMethod.allCases.map(\.rawValue)))
    #expect(Self.keys(try Self.value("components", "schemas", "Reply", "properties")) == Self.methods("error"))
  }

  @Test("An operation is named like its method, and refers to nothing that is not there")
  func operations() throws {
    for (path, operations) in try #require(try Self.value("paths").object).members {
      let post = operations.object?["post"]?.object
      if let post { #expect(post["operationId"]?.string.map { "/api/\($0)" } == path) }
      let operation = try #require(post ?? operations.object?["get"]?.object)
      #expect(operation["responses"]?.object?["405"] != nil, "\(path)")
    }
    let (schemas, responses) = (
      Self.keys(try Self.value("components", "schemas")), Self.keys(try Self.value("components", "responses"))
    )
    let known = Set(
      schemas.map { "#/components/schemas/\($0)" } + responses.map { "#/components/responses/\($0)" })
    var references: Set<String> = []
    Self.collectReferences(in: try Self.document(), into: &references)
    #expect(references == known)
  }

  private static func collectReferences(in value: JSONValue, into references: inout Set<String>) {
    for element in value.array ?? [] { collectReferences(in: element, into: &references) }
    for (key, value) in value.object?.members ?? [] {
      if key == "$ref", let target = value.string { references.insert(target) }
      collectReferences(in: value, into: &references)
    }
  }

  @Test("Limits are those that the server has")
  func limits() throws {
    func limit(_ schema: String, _ name: String) throws -> String {
      try Self.value("components", "schemas", schema, name).text
    }
    #expect(try limit("ChannelName", "maxLength") == "\(ChannelName.defaultMaximumLength)")
    #expect(try limit("Key", "maxLength") == "\(MapWrite.maximumKeyBytes)")
    for schema in ["PublishRequest", "BatchRequest", "SubscribeRequest"] {
      #expect(try limit(schema, "maxProperties") == "\(JSONArguments.maximumFields)")
    }
    let reserved = try Self.value("components", "schemas", "Tags", "propertyNames", "not", "enum").array
    #expect(Set(reserved?.compactMap(\.string) ?? []) == BrokerCore.reservedTags)
    let key = try Self.value("components", "securitySchemes", "key", "name")
    #expect(key.string == "X-API-Key")
  }
}
