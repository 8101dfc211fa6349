import Wire

@testable import Broker

/// What services ask, by ZeroMQ and by the server API.
enum ServiceTargets {
  private static let methods = [
    "publish", "edit", "delete", "history", "history_remove", "map_set", "map_remove", "map_get", "map_list", "map",
    "presence", "presence_stats", "channels", "info", "why", "inspect_channel", "inspect_user", "inspect_client",
    "explain", "top", "call", "disconnect", "subscribe", "unsubscribe", "refresh", "revoke_token",
    "invalidate_user_tokens", "webhooks_list", "webhook_given_up", "webhook_resend", "user_data", "user_export",
    "user_delete", "user_delete_status", "clique_pair", "clique_groups", "clique_unblock", "clique_reports",
    "clique_report", "clique_report_picture", "clique_report_settle", "user_suspend", "user_unsuspend",
    "user_suspensions", "state_thread", "push_send", "push_notify",
  ]

  /// The first byte chooses the method; a null byte divides the parameters from the payload.
  static func request(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    var bytes = FuzzBytes(input)
    guard let request = read(&bytes) else { return false }
    // A service may stand on another machine, and then its request goes on over the link.
    try LinkTargets.checkRequest(request)
    return true
  }

  /// Nil where the bytes are no request.
  static func read(_ bytes: inout FuzzBytes) -> BrokerRequest? {
    let method = Array(bytes.pick(methods).utf8)
    let parts = bytes.rest().split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    return try? ServiceRequest.read([method] + parts.map { Array($0) }).request
  }
}
