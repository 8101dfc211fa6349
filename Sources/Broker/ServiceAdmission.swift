import Wire

/// What is looked at before a service's request is taken in, whichever door it came through.
struct ServiceAdmission: Sendable {
  let namespaces: NamespaceTable

  /// The request as the broker takes it in: with payloads that clients can read, and with the command of a call.
  ///
  /// To be asked after the service's grant was checked: a service that may not call is not told what is wrong with its
  /// command.
  ///
  /// - Throws: error 107 with a sentence.
  func admitted(_ request: BrokerRequest) throws(ClientError) -> BrokerRequest {
    if case .once(let key, let request) = request { return .once(key, try admitted(request)) }
    try checkPayload(of: request)
    guard case .call(var call) = request, case .other(let other) = call.command else { return request }
    if !other.data.isEmpty { try Self.checkJSON(other.data) }
    call.command = try AppCommand(other.method, other.data, by: call.caller.user)
    return .call(call)
  }

  /// Checks that a payload is JSON where its channel holds JSON, as a gateway does for its clients: any other payload
  /// would break the frames of clients that read JSON.
  private func checkPayload(of request: BrokerRequest) throws(ClientError) {
    let data: [UInt8]
    switch request {
    case .publish(let publish) where !isBinary(publish.channel): data = publish.data
    case .edit(let edit) where !isBinary(edit.channel): data = edit.data ?? BrokerCore.noData
    default: return
    }
    try Self.checkJSON(data)
  }

  private static func checkJSON(_ data: [UInt8]) throws(ClientError) {
    do { try JSONSyntax.check(data) } catch {
      throw .badRequest.saying(
        "the payload is not JSON: \(error); for other bytes set publication_data_format to binary")
    }
  }

  /// Whether payloads of a channel are any bytes, and shown as base64.
  func isBinary(_ channel: ChannelName?) -> Bool {
    channel.flatMap(namespaces.options(for:))?.dataFormat == .binary
  }
}
