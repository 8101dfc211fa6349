public import Wire

// The form in which devices are kept on disk, and in which clients register them:
//
//     {"kind":"web","endpoint":"https://…","keys":{"p256dh":"…","auth":"…"}}
//     {"kind":"apns","token":"00ab…","topic":"com.example.app","environment":"production"}
//     {"kind":"fcm","token":"…"}
//
// The first has the members of `PushSubscription.toJSON()`, so that a page adds `kind` and is done. Other members are
// passed over.

extension PushDevice {
  public var json: [UInt8] {
    var writer = JSONWriter(capacity: 512)
    writer.object { writer in
      writer.write("kind", kind.rawValue)
      switch self {
      case .webPush(let subscription):
        writer.write("endpoint", subscription.endpoint)
        writer.object("keys") {
          $0.write("p256dh", subscription.p256dh)
          $0.write("auth", subscription.auth)
        }
      case .apns(let device):
        writer.write("token", device.token)
        if let topic = device.topic { writer.write("topic", topic) }
        writer.write("environment", device.environment.rawValue)
      case .fcm(let device): writer.write("token", device.token)
      }
    }
    return writer.bytes
  }

  public init(json: [UInt8]) throws(InvalidPushDevice) {
    guard let value = try? JSONValue(parsing: json) else { throw InvalidPushDevice("the device is not JSON") }
    try self.init(value)
  }

  public init(_ value: JSONValue) throws(InvalidPushDevice) {
    guard let object = value.object else {
      throw InvalidPushDevice("the device is no JSON object, or has a key twice")
    }
    let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
    guard let kind = object["kind"]?.string.flatMap(Kind.init) else {
      throw InvalidPushDevice("the device has no kind that is known; write one of \(kinds)")
    }
    switch kind {
    case .web: self = .webPush(try Self.subscription(object))
    case .apns: self = .apns(try Self.apns(object))
    case .fcm: self = .fcm(try FCMDevice(token: try Self.text("token", in: object)))
    }
  }

  private static func subscription(_ object: JSONObject) throws(InvalidPushDevice) -> WebPushSubscription {
    guard let keys = object["keys"]?.object else {
      throw InvalidPushDevice("the device has no keys; give the object keys of the browser's subscription")
    }
    return try WebPushSubscription(
      endpoint: try text("endpoint", in: object), p256dh: try text("p256dh", in: keys), auth: try text("auth", in: keys)
    )
  }

  private static func apns(_ object: JSONObject) throws(InvalidPushDevice) -> APNsDevice {
    var environment = APNsDevice.Environment.production
    if object["environment"] != nil {
      guard let named = APNsDevice.Environment(rawValue: try text("environment", in: object)) else {
        throw InvalidPushDevice("environment is neither production nor sandbox")
      }
      environment = named
    }
    let topic = object["topic"] == nil ? nil : try text("topic", in: object)
    return try APNsDevice(token: try text("token", in: object), topic: topic, environment: environment)
  }

  private static func text(_ name: String, in object: JSONObject) throws(InvalidPushDevice) -> String {
    guard let text = object[name]?.string else { throw InvalidPushDevice("\(name) is missing, or is no text") }
    return text
  }
}
