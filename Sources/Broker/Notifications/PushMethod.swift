import Wire

/// Reads the arguments of `push_send` as far as the broker looks at them: how many devices, how many bytes.
enum PushMethod {
  static let name = "push_send"

  /// What is handed on. Other members are passed over, as everywhere.
  private static let members = [
    "devices", "title", "body", "data", "badge", "urgency", "ttl", "collapse_key", "withdraw", "silent", "link",
  ]

  static func read(_ fields: JSONArguments) throws(ClientError) -> PushRequest {
    guard let devices = fields["devices"]?.array, !devices.isEmpty else {
      throw .badRequest.saying("push_send needs devices: a list of objects such as {\"kind\": \"fcm\", \"token\": …}")
    }
    guard devices.count <= PushRequest.mostDevices else {
      throw .badRequest.saying(
        "push_send takes at most \(PushRequest.mostDevices) devices, and these are \(devices.count); make more calls")
    }
    var writer = JSONWriter(capacity: 1024)
    writer.object { writer in
      for name in members {
        if let value = fields[name] { writer.write(named: name, raw: Array(value.bytes)) }
      }
    }
    guard writer.bytes.count <= PushRequest.mostBytes else {
      throw .badRequest.saying(
        "push_send takes at most \(PushRequest.mostBytes) bytes, and these are \(writer.bytes.count); name fewer devices "
          + "in a call, and shorten the texts")
    }
    return PushRequest(arguments: writer.bytes)
  }
}
