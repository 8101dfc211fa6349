import Wire

/// The topics of what is published on channels of namespaces with the option `push`: `channel.<namespace>`, so that
/// people and texts can tell namespaces apart.
enum ChannelTopic {
  /// Of channels without a namespace, and of namespaces whose name is no part of a topic.
  static let general = "channel"
  private static let prefix = general + "."

  static func name(of channel: ChannelName) -> String {
    guard let namespace = channel.namespace, !namespace.isEmpty else { return general }
    let topic = prefix + namespace
    let isName = PushTopics.isValid(topic) && topic.utf8.last != UInt8(ascii: "*")
    return isName ? topic : general
  }

  static func isOne(_ topic: String) -> Bool {
    topic.hasSameBytes(as: general) || topic.utf8.starts(with: prefix.utf8)
  }
}
