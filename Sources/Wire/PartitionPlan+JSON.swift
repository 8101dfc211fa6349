// What answers in JSON come to together, which only some requests of services and of gateways themselves have.

extension PartitionPlan {
  /// The states that a deletion goes through. Home takes it in: a partition that knows of none while home is at work has
  /// not heard of it yet.
  private static let deletionStates = ["none", "waiting", "deleting", "done"]

  static func deletion(_ answers: [BrokerResponse]) -> BrokerResponse {
    let objects = answers.compactMap(\.object)
    let states = objects.map { deletionStates.firstIndex(of: $0["state"]?.string ?? "") ?? 0 }
    var state = states.min() ?? 0
    if state == 0, let home = states.first, (1..<deletionStates.count - 1).contains(home) { state = 1 }
    let since = objects.compactMap { $0.number("since") }.min()
    let done = objects.compactMap { $0.number("done") }.max()
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("state", deletionStates[state])
      if let since, state > 0 { writer.write("since", since) }
      if let done, state == deletionStates.count - 1 { writer.write("done", done) }
    }
    return .result(writer.bytes)
  }

  private struct Kind: Hashable, Comparable {
    var kind: String
    var namespace: String?

    static func < (a: Kind, b: Kind) -> Bool { (a.kind, a.namespace ?? "") < (b.kind, b.namespace ?? "") }
  }

  /// What is kept of a user: amounts of each kind, and on how many channels the user is present. Revocations are the same
  /// in all partitions.
  static func kept(_ answers: [BrokerResponse]) -> BrokerResponse {
    var amounts: [Kind: (count: Int64, bytes: Int64)] = [:]
    var present: Int64 = 0
    let objects = answers.compactMap(\.object)
    for object in objects {
      present += object.number("present") ?? 0
      for item in (object["kept"]?.array ?? []).compactMap(\.object) {
        let kind = Kind(kind: item["kind"]?.string ?? "", namespace: item["namespace"]?.string)
        amounts[kind, default: (0, 0)].count += item.number("count") ?? 0
        amounts[kind, default: (0, 0)].bytes += item.number("bytes") ?? 0
      }
    }
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("kept") { writer in
        for (kind, amount) in amounts.sorted(by: { $0.key < $1.key }) {
          writer.object { writer in
            writer.write("kind", kind.kind)
            if let namespace = kind.namespace { writer.write("namespace", namespace) }
            writer.write("count", amount.count)
            writer.write("bytes", amount.bytes)
          }
        }
      }
      writer.write("present", present)
      writer.write("revocations", objects.compactMap { $0.number("revocations") }.max() ?? 0)
    }
    return .result(writer.bytes)
  }

  /// A page names the partition in which the next one is.
  static func page(_ answer: BrokerResponse, _ partition: Int, of count: Int) -> BrokerResponse {
    guard let object = answer.object else { return answer }
    var next: String?
    if let cursor = object["cursor"]?.string {
      next = "\(partition).\(cursor)"
    } else if partition + 1 < count {
      next = "\(partition + 1)."
    }
    var writer = JSONWriter()
    writer.object { writer in
      for (key, value) in object.members where key != "cursor" { writer.write(named: key, raw: Array(value.bytes)) }
      if let next { writer.write("cursor", next) }
    }
    return .result(writer.bytes)
  }

  /// The pictures that all say are gone, each of which knows only its own.
  static func gone(_ answers: [BrokerResponse]) -> BrokerResponse {
    var gone: [String]?
    for answer in answers {
      guard let ids = answer.object?["gone"]?.array?.compactMap(\.string) else { return .failed(.internalError) }
      let known = Set(ids)
      gone = (gone ?? ids).filter(known.contains)
    }
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("gone") { writer in
        for id in gone ?? [] { writer.write(element: id) }
      }
    }
    return .result(writer.bytes)
  }

  /// The webhooks of all partitions in one list, by the names with which something is asked of one of them.
  static func webhooks(_ answers: [BrokerResponse], _ partitions: [Int]) -> BrokerResponse {
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("webhooks") { writer in
        for (answer, partition) in zip(answers, partitions) {
          for webhook in (answer.object?["webhooks"]?.array ?? []).compactMap(\.object) {
            writer.object { writer in
              for (key, value) in webhook.members {
                if key == "name", partition != Partitioning.home, let name = value.string {
                  writer.write("name", "\(name)@\(partition)")
                } else {
                  writer.write(named: key, raw: Array(value.bytes))
                }
              }
            }
          }
        }
      }
    }
    return .result(writer.bytes)
  }
}

extension BrokerResponse {
  /// The object that an answer in JSON is.
  var object: JSONObject? {
    guard case .result(let bytes) = self else { return nil }
    return (try? JSONValue(parsing: bytes))?.object
  }
}

extension JSONObject {
  func number(_ name: String) -> Int64? { self[name].flatMap { Int64($0.text) } }
}
