import Push

/// Devices that people register for notifications: where calls of this server will go.
enum DeviceTargets {
  static func device(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    guard let device = try? PushDevice(json: input) else { return false }
    let again = try? PushDevice(json: device.json)
    try require(again == device, "\(device) is not read as it was written")
    try require(again?.id == device.id, "\(device) has another id when it is read again")
    if case .webPush(let subscription) = device {
      try require(
        subscription.endpoint.lowercased().hasPrefix("https://"), "a call would go to \(subscription.endpoint)")
    }
    return true
  }
}
