import Wire

/// What spans say of services' requests. Names of channels and users are not among it.
extension BrokerRequest {
  /// The request itself, without the key under which it is done once.
  var withoutKey: BrokerRequest { if case .once(_, let request) = self { request.withoutKey } else { self } }

  /// The method by which services ask for it.
  var serviceMethod: String {
    switch self {
    case .publish: "publish"
    case .edit(let edit): edit.data == nil ? "delete" : "edit"
    case .history: "history"
    case .historyRemove: "history_remove"
    case .presence: "presence"
    case .presenceStats: "presence_stats"
    case .readMap(let map): map.key == nil ? "map_list" : "map_get"
    case .channels, .channelCounts: "channels"
    case .info: "info"
    case .why: "why"
    case .inspect: "inspect"
    case .top: "top"
    case .call(let call): String(call.command.method.prefix(64))
    case .once(_, let request): request.serviceMethod
    case .disconnect: "disconnect"
    case .beginSubscriptions: "subscribe"
    case .endSubscriptions: "unsubscribe"
    case .refresh: "refresh"
    case .revoke(let revoke): if case .id = revoke.tokens { "revoke_token" } else { "invalidate_user_tokens" }
    case .webhooks(.list): "webhooks_list"
    case .webhooks(.givenUp): "webhook_given_up"
    case .webhooks(.resend): "webhook_resend"
    case .user(let request): request.grant
    case .push(let push): push.method == .send ? PushMethod.name : NotifyOrder.name
    case .subscribe, .unsubscribe, .receipt, .unread, .report: "request"
    }
  }
}

extension BrokerResponse {
  /// The code of the error that it tells; nil: it tells none.
  var failure: UInt32? { if case .failed(let error) = self { error.code } else { nil } }
}
