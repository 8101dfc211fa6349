import ClientProtobuf
import Foundation
import Testing
import Wire

/// A reply with what both encoders must make of it.
struct ReplyExample: CustomTestStringConvertible, Sendable {
  var reply: ClientReply
  var json: String
  var protobuf: ProtoReply

  init(_ reply: ClientReply, _ json: String, _ fill: (inout ProtoReply) -> Void) {
    self.reply = reply
    self.json = json
    protobuf = with(ProtoReply(), fill)
  }

  var testDescription: String { json }

  /// Every reply and push, with nothing in it and with everything in it.
  static let all: [ReplyExample] = connects + subscribes + others + pushes

  static let publication = Publication(
    offset: 42, time: 1_700_000_000_000, data: utf8(#"{"a":1}"#),
    info: ClientInfo(user: "u", client: "k", connectionInfo: utf8(#"{"n":"é"}"#), channelInfo: utf8("[]")),
    tags: ["b": "2", "a": "1"])

  static let publicationJSON = """
    {"data":{"a":1},"info":{"user":"u","client":"k","conn_info":{"n":"é"},"chan_info":[]},"offset":42,\
    "tags":{"a":"1","b":"2"},"time":1700000000000}
    """

  static let publicationProtobuf = with(ProtoPublication()) {
    $0.data = Data(utf8(#"{"a":1}"#))
    $0.info.user = "u"
    $0.info.client = "k"
    $0.info.connInfo = Data(utf8(#"{"n":"é"}"#))
    $0.info.chanInfo = Data(utf8("[]"))
    $0.offset = 42
    $0.tags = ["a": "1", "b": "2"]
    $0.time = 1_700_000_000_000
  }

  /// A key of a shared poll: with its version, and without the tags that tell other SDKs of a map's keys.
  private static let polled = Publication(data: utf8("[1]"), change: KeyChange(key: "k", version: 7))

  private static let polledJSON = #"{"data":[1],"key":"k","version":7}"#

  private static let polledProtobuf = with(ProtoPublication()) {
    $0.data = Data(utf8("[1]"))
    $0.key = "k"
    $0.version = 7
  }

  /// A key that the backend has no more.
  private static let polledRemoval = Publication(data: [], change: KeyChange(key: "k", removed: true, version: 0))

  private static let polledRemovalJSON = #"{"key":"k","removed":true}"#

  private static let polledRemovalProtobuf = with(ProtoPublication()) {
    $0.key = "k"
    $0.removed = true
  }

  /// A publication that writes a key of a map. The publisher's own tag `key` gives way to it.
  private static let entry = Publication(
    offset: 3, data: utf8("1"), tags: ["a": "1", "key": "other"], change: KeyChange(key: "k", score: -2))

  private static let entryJSON = #"{"data":1,"offset":3,"tags":{"a":"1","key":"k"},"key":"k","score":-2}"#

  private static let entryProtobuf = with(ProtoPublication()) {
    $0.offset = 3
    $0.data = Data(utf8("1"))
    $0.tags = ["a": "1", "key": "k"]
    $0.key = "k"
    $0.score = -2
  }

  private static let removal = Publication(offset: 4, data: [], change: KeyChange(key: "k", removed: true))

  private static let removalJSON = #"{"offset":4,"tags":{"key":"k","removed":"true"},"key":"k","removed":true}"#

  private static let removalProtobuf = with(ProtoPublication()) {
    $0.offset = 4
    $0.tags = ["key": "k", "removed": "true"]
    $0.key = "k"
    $0.removed = true
  }

  private static let subscribed = with(ClientReply.SubscribeResult()) {
    $0.expires = true
    $0.ttl = 60
    $0.recoverable = true
    $0.positioned = true
    $0.epoch = "x"
    $0.offset = .max
    $0.publications = [publication, Publication(offset: 43, data: utf8("1"))]
    $0.recovered = true
    $0.wasRecovering = true
    $0.data = utf8("null")
    $0.publishDebounce = 2000
  }

  private static let subscribedJSON = """
    {"expires":true,"ttl":60,"recoverable":true,"epoch":"x","publications":[\(publicationJSON),{"data":1,"offset":43}],\
    "recovered":true,"offset":18446744073709551615,"positioned":true,"data":null,"was_recovering":true,\
    "publish_debounce":2000}
    """

  private static let subscribedProtobuf = with(ProtoSubscribeResult()) {
    $0.expires = true
    $0.ttl = 60
    $0.recoverable = true
    $0.positioned = true
    $0.epoch = "x"
    $0.offset = .max
    $0.publications = [
      publicationProtobuf,
      with(.init()) {
        $0.offset = 43
        $0.data = Data(utf8("1"))
      },
    ]
    $0.recovered = true
    $0.wasRecovering = true
    $0.data = Data(utf8("null"))
    $0.publishDebounce = 2000
  }

  private static let connects: [ReplyExample] = [
    .init(.connect(id: 1, with(.init()) { $0.client = "k" }), #"{"id":1,"connect":{"client":"k"}}"#) {
      $0.id = 1
      $0.connect.client = "k"
    },
    .init(
      .connect(
        id: .max,
        with(.init()) {
          $0.client = "k"
          $0.version = "1.0"
          $0.expires = true
          $0.ttl = 600
          $0.data = utf8(#"{"a":[]}"#)
          $0.subs = ["b": .init(), "a": subscribed]
          $0.ping = 25
          $0.pong = true
          $0.session = "s"
          $0.node = "n"
        }),
      """
      {"id":4294967295,"connect":{"client":"k","version":"1.0","expires":true,"ttl":600,"data":{"a":[]},\
      "subs":{"a":\(subscribedJSON),"b":{}},"ping":25,"pong":true,"session":"s","node":"n"}}
      """
    ) {
      $0.id = .max
      $0.connect.client = "k"
      $0.connect.version = "1.0"
      $0.connect.expires = true
      $0.connect.ttl = 600
      $0.connect.data = Data(utf8(#"{"a":[]}"#))
      $0.connect.subs = ["b": .init(), "a": subscribedProtobuf]
      $0.connect.ping = 25
      $0.connect.pong = true
      $0.connect.session = "s"
      $0.connect.node = "n"
    },
  ]

  private static let subscribes: [ReplyExample] = [
    .init(.subscribe(id: 2, .init()), #"{"id":2,"subscribe":{}}"#) {
      $0.id = 2
      $0.subscribe = .init()
    },
    .init(.subscribe(id: 2, subscribed), "{\"id\":2,\"subscribe\":\(subscribedJSON)}") {
      $0.id = 2
      $0.subscribe = subscribedProtobuf
    },
    .init(
      .history(
        id: 7,
        with(.init()) {
          $0.publications = [publication]
          $0.epoch = "x"
          $0.offset = 42
        }), "{\"id\":7,\"history\":{\"publications\":[\(publicationJSON)],\"epoch\":\"x\",\"offset\":42}}"
    ) {
      $0.id = 7
      $0.history.publications = [publicationProtobuf]
      $0.history.epoch = "x"
      $0.history.offset = 42
    },
    .init(
      .subscribe(
        id: 2,
        with(.init()) {
          $0.type = 1
          $0.phase = 2
          $0.cursor = "k2"
          $0.epoch = "x"
          $0.state = [entry]
          $0.publications = [removal]
        }),
      """
      {"id":2,"subscribe":{"epoch":"x","publications":[\(removalJSON)],"type":1,"phase":2,"cursor":"k2",\
      "state":[\(entryJSON)]}}
      """
    ) {
      $0.id = 2
      $0.subscribe.type = 1
      $0.subscribe.phase = 2
      $0.subscribe.cursor = "k2"
      $0.subscribe.epoch = "x"
      $0.subscribe.state = [entryProtobuf]
      $0.subscribe.publications = [removalProtobuf]
    },
    .init(
      .push(.publication(channel: "m", entry)), "{\"push\":{\"channel\":\"m\",\"pub\":\(entryJSON)}}"
    ) {
      $0.push.channel = "m"
      $0.push.pub = entryProtobuf
    },
    .init(
      .push(.publication(channel: "m", removal)), "{\"push\":{\"channel\":\"m\",\"pub\":\(removalJSON)}}"
    ) {
      $0.push.channel = "m"
      $0.push.pub = removalProtobuf
    },
    .init(.history(id: 7, .init()), #"{"id":7,"history":{"publications":[],"epoch":"","offset":0}}"#) {
      $0.id = 7
      $0.history = .init()
    },
  ]

  private static let others: [ReplyExample] = [
    .init(.serverPing, "{}") { _ in },
    .init(
      .subscribe(id: 2, with(.init()) { $0.gap = RecoveryGap(42...57, .expired) }),
      #"{"id":2,"subscribe":{"gap":{"from":42,"to":57,"reason":"expired"}}}"#
    ) {
      $0.id = 2
      $0.subscribe.gap.from = 42
      $0.subscribe.gap.to = 57
      $0.subscribe.gap.reason = "expired"
    },
    .init(
      .subscribe(id: 2, with(.init()) { $0.gap = RecoveryGap(.epoch) }),
      #"{"id":2,"subscribe":{"gap":{"reason":"epoch"}}}"#
    ) {
      $0.id = 2
      $0.subscribe.gap.reason = "epoch"
    },
    .init(.unsubscribe(id: 3), #"{"id":3,"unsubscribe":{}}"#) {
      $0.id = 3
      $0.unsubscribe = .init()
    },
    .init(.publish(id: 3), #"{"id":3,"publish":{}}"#) {
      $0.id = 3
      $0.publish = .init()
    },
    .init(.ping(id: 3), #"{"id":3,"ping":{}}"#) {
      $0.id = 3
      $0.ping = .init()
    },
    .init(.presence(id: 4, [], isPartial: true), #"{"id":4,"presence":{"presence":{},"partial":true}}"#) {
      $0.id = 4
      $0.presence.partial = true
    },
    .init(.presence(id: 4, []), #"{"id":4,"presence":{"presence":{}}}"#) {
      $0.id = 4
      $0.presence = .init()
    },
    .init(
      .presence(
        id: 4,
        [
          ClientInfo(user: "", client: "k2"),
          ClientInfo(user: "u", client: "k1", connectionInfo: utf8("1"), channelInfo: utf8("2")),
        ]),
      """
      {"id":4,"presence":{"presence":{"k2":{"user":"","client":"k2"},\
      "k1":{"user":"u","client":"k1","conn_info":1,"chan_info":2}}}}
      """
    ) {
      $0.id = 4
      $0.presence.presence["k2"] = with(.init()) { $0.client = "k2" }
      $0.presence.presence["k1"] = with(.init()) {
        $0.user = "u"
        $0.client = "k1"
        $0.connInfo = Data(utf8("1"))
        $0.chanInfo = Data(utf8("2"))
      }
    },
    .init(
      .presenceStats(id: 5, clients: 3, users: 2), #"{"id":5,"presence_stats":{"num_clients":3,"num_users":2}}"#
    ) {
      $0.id = 5
      $0.presenceStats.numClients = 3
      $0.presenceStats.numUsers = 2
    },
    .init(.presenceStats(id: 5, clients: 0, users: 0), #"{"id":5,"presence_stats":{"num_clients":0,"num_users":0}}"#) {
      $0.id = 5
      $0.presenceStats = .init()
    },
    .init(.rpc(id: 9, data: utf8("[1]")), #"{"id":9,"rpc":{"data":[1]}}"#) {
      $0.id = 9
      $0.rpc.data = Data(utf8("[1]"))
    },
    .init(.rpc(id: 9, data: []), #"{"id":9,"rpc":{}}"#) {
      $0.id = 9
      $0.rpc = .init()
    },
    .init(
      .refresh(
        id: 10,
        with(.init()) {
          $0.client = "k"
          $0.version = "1"
          $0.expires = true
          $0.ttl = 5
        }), #"{"id":10,"refresh":{"client":"k","version":"1","expires":true,"ttl":5}}"#
    ) {
      $0.id = 10
      $0.refresh.client = "k"
      $0.refresh.version = "1"
      $0.refresh.expires = true
      $0.refresh.ttl = 5
    },
    .init(.subRefresh(id: 11, expires: true, ttl: 5), #"{"id":11,"sub_refresh":{"expires":true,"ttl":5}}"#) {
      $0.id = 11
      $0.subRefresh.expires = true
      $0.subRefresh.ttl = 5
    },
    .init(.subRefresh(id: 11, expires: false, ttl: 0), #"{"id":11,"sub_refresh":{}}"#) {
      $0.id = 11
      $0.subRefresh = .init()
    },
    .init(
      .subRefresh(id: 11, expires: true, ttl: 5, items: [polled, polledRemoval]),
      #"{"id":11,"sub_refresh":{"expires":true,"ttl":5,"items":[\#(polledJSON),\#(polledRemovalJSON)]}}"#
    ) {
      $0.id = 11
      $0.subRefresh.expires = true
      $0.subRefresh.ttl = 5
      $0.subRefresh.items = [polledProtobuf, polledRemovalProtobuf]
    },
    .init(.error(id: 3, .permissionDenied), #"{"id":3,"error":{"code":103,"message":"permission denied"}}"#) {
      $0.id = 3
      $0.error.code = 103
      $0.error.message = "permission denied"
    },
    .init(
      .error(id: 3, .tooManyRequests.saying("wait 2 s")),
      #"{"id":3,"error":{"code":111,"message":"wait 2 s","temporary":true}}"#
    ) {
      $0.id = 3
      $0.error.code = 111
      $0.error.message = "wait 2 s"
      $0.error.temporary = true
    },
  ]

  private static let pushes: [ReplyExample] = [
    .init(
      .push(.publication(channel: "c", polled)), #"{"push":{"channel":"c","pub":\#(polledJSON)}}"#
    ) {
      $0.push.channel = "c"
      $0.push.pub = polledProtobuf
    },
    .init(.push(.publication(channel: "c", publication)), #"{"push":{"channel":"c","pub":\#(publicationJSON)}}"#) {
      $0.push.channel = "c"
      $0.push.pub = publicationProtobuf
    },
    .init(
      .push(.publication(channel: "c", Publication(data: utf8("{}")))), #"{"push":{"channel":"c","pub":{"data":{}}}}"#
    ) {
      $0.push.channel = "c"
      $0.push.pub.data = Data(utf8("{}"))
    },
    .init(
      .push(.join(channel: "c", ClientInfo(user: "u", client: "k"))),
      #"{"push":{"channel":"c","join":{"info":{"user":"u","client":"k"}}}}"#
    ) {
      $0.push.channel = "c"
      $0.push.join.info.user = "u"
      $0.push.join.info.client = "k"
    },
    .init(
      .push(.leave(channel: "c", ClientInfo(user: "u", client: "k"))),
      #"{"push":{"channel":"c","leave":{"info":{"user":"u","client":"k"}}}}"#
    ) {
      $0.push.channel = "c"
      $0.push.leave.info.user = "u"
      $0.push.leave.info.client = "k"
    },
    .init(
      .push(.unsubscribe(channel: "c", .insufficient)),
      #"{"push":{"channel":"c","unsubscribe":{"code":2500,"reason":"insufficient state"}}}"#
    ) {
      $0.push.channel = "c"
      $0.push.unsubscribe.code = 2500
      $0.push.unsubscribe.reason = "insufficient state"
    },
    .init(.push(.message(data: utf8("1"))), #"{"push":{"message":{"data":1}}}"#) {
      $0.push.message.data = Data(utf8("1"))
    },
    .init(
      .push(
        .subscribe(channel: "c", recoverable: true, positioned: true, StreamPosition(epoch: "x", offset: 5))),
      #"{"push":{"channel":"c","subscribe":{"recoverable":true,"epoch":"x","offset":5,"positioned":true}}}"#
    ) {
      $0.push.channel = "c"
      $0.push.subscribe.recoverable = true
      $0.push.subscribe.positioned = true
      $0.push.subscribe.epoch = "x"
      $0.push.subscribe.offset = 5
    },
    .init(
      .push(.subscribe(channel: "c", recoverable: false, positioned: false, StreamPosition(epoch: "", offset: 0))),
      #"{"push":{"channel":"c","subscribe":{}}}"#
    ) {
      $0.push.channel = "c"
      $0.push.subscribe = .init()
    },
    .init(
      .push(
        .subscribe(
          channel: "c", recoverable: false, positioned: true, StreamPosition(epoch: "x", offset: 0),
          data: utf8(#"{"a":1}"#))),
      #"{"push":{"channel":"c","subscribe":{"epoch":"x","positioned":true,"data":{"a":1}}}}"#
    ) {
      $0.push.channel = "c"
      $0.push.subscribe.positioned = true
      $0.push.subscribe.epoch = "x"
      $0.push.subscribe.data = Data(utf8(#"{"a":1}"#))
    },
    .init(
      .push(.disconnect(.shutdown)),
      #"{"push":{"disconnect":{"code":3001,"reason":"shutdown","reconnect":true}}}"#
    ) {
      $0.push.disconnect.code = 3001
      $0.push.disconnect.reason = "shutdown"
      $0.push.disconnect.reconnect = true
    },
    .init(.push(.disconnect(.badRequest)), #"{"push":{"disconnect":{"code":3501,"reason":"bad request"}}}"#) {
      $0.push.disconnect.code = 3501
      $0.push.disconnect.reason = "bad request"
    },
    .init(.push(.refresh(expires: true, ttl: 30)), #"{"push":{"refresh":{"expires":true,"ttl":30}}}"#) {
      $0.push.refresh.expires = true
      $0.push.refresh.ttl = 30
    },
    .init(.push(.refresh(expires: false, ttl: 0)), #"{"push":{"refresh":{}}}"#) { $0.push.refresh = .init() },
    .init(.push(.reconnect(afterMilliseconds: 2500)), #"{"push":{"reconnect":{"after":2500}}}"#) {
      $0.push.reconnect.after = 2500
    },
    .init(.push(.reconnect(afterMilliseconds: 0)), #"{"push":{"reconnect":{"after":0}}}"#) {
      $0.push.reconnect = .init()
    },
  ]
}
