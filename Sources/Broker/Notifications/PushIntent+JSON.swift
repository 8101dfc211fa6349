import Apps
import Wire

extension PushIntent {
  /// The notice as the log keeps it. Its offset and time are those of the publication.
  var stored: [UInt8] {
    var writer = JSONWriter(capacity: 128)
    writer.object { writer in
      writer.write("topic", topic)
      writer.write("subject", subject)
      writer.list("users") { writer in for user in users { writer.write(element: user) } }
      guard let content else { return }
      writer.object("content") { writer in
        writer.write("title", content.title)
        if !content.body.isEmpty { writer.write("body", content.body) }
        if !content.data.isEmpty {
          writer.object("data") { writer in
            for (name, value) in content.data.sorted(by: { $0.key < $1.key }) { writer.write(named: name, value) }
          }
        }
        if let link = content.link { writer.write("link", link) }
        if let offset = content.offset { writer.write("offset", offset) }
      }
    }
    return writer.bytes
  }

  /// Reads what ``stored`` wrote; nil where it did not: the notice was erased, or is of another version.
  init?(_ publication: Publication) {
    guard let fields = (try? JSONValue(parsing: publication.data))?.object, let topic = fields["topic"]?.string,
      let subject = fields["subject"]?.string, let users = fields["users"]?.array
    else { return nil }
    self.init(
      offset: publication.offset, time: publication.time, topic: topic, subject: subject,
      users: users.compactMap(\.string), content: fields["content"]?.object.flatMap { Content(stored: $0) })
  }
}

extension PushIntent.Content {
  fileprivate init?(stored fields: JSONObject) {
    guard let title = fields["title"]?.string else { return nil }
    var data: [String: String] = [:]
    for (name, value) in fields["data"]?.object?.members ?? [] { data[name] = value.string }
    self.init(
      title: title, body: fields["body"]?.string ?? "", data: data, link: fields["link"]?.string,
      offset: fields["offset"].flatMap { UInt64($0.text) })
  }
}
