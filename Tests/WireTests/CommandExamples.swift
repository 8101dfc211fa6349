import ClientProtobuf
import Foundation
import Testing
import Wire

/// A command in all three shapes: as JSON, as Protobuf and as what the codec makes of either.
struct CommandExample: CustomTestStringConvertible, Sendable {
  var json: String
  var protobuf: ProtoCommand
  var command: ClientCommand

  init(_ json: String, _ id: UInt32, _ body: ClientCommand.Body, _ fill: (inout ProtoCommand) -> Void) {
    self.json = json
    protobuf = with(ProtoCommand()) {
      $0.id = id
      fill(&$0)
    }
    command = ClientCommand(id: id, body: body)
  }

  var testDescription: String { json }

  /// Every command, with nothing in it and with everything in it.
  static let all: [CommandExample] = connects + subscribes + others

  private static let connects: [CommandExample] = [
    .init(#"{"id":1,"connect":{}}"#, 1, .connect(.init())) { $0.connect = .init() },
    .init(
      """
      {"id":4294967295,"connect":{"token":"t.o.k","data":{"a": [1]},"name":"js","version":"1.2","reconnects":true,\
      "subs":{"news":{"recover":true,"epoch":"x","offset":5}}}}
      """, .max,
      .connect(
        with(.init()) {
          $0.token = "t.o.k"
          $0.data = utf8(#"{"a": [1]}"#)
          $0.name = "js"
          $0.version = "1.2"
          $0.reconnects = true
          $0.subs["news"] = with(.init()) {
            $0.recover = true
            $0.epoch = "x"
            $0.offset = 5
          }
        })
    ) {
      $0.connect.token = "t.o.k"
      $0.connect.data = Data(utf8(#"{"a": [1]}"#))
      $0.connect.name = "js"
      $0.connect.version = "1.2"
      $0.connect.reconnects = true
      $0.connect.subs["news"] = with(.init()) {
        $0.recover = true
        $0.epoch = "x"
        $0.offset = 5
      }
    },
  ]

  private static let subscribes: [CommandExample] = [
    .init(#"{"id":2,"subscribe":{"channel":"c"}}"#, 2, .subscribe(with(.init()) { $0.channel = "c" })) {
      $0.subscribe.channel = "c"
    },
    .init(
      """
      {"id":2,"subscribe":{"channel":"$c","token":"t","recover":true,"epoch":"x","offset":18446744073709551615,\
      "data":"d","positioned":true,"recoverable":true,"join_leave":true,"flag":3}}
      """, 2,
      .subscribe(
        with(.init()) {
          $0.channel = "$c"
          $0.token = "t"
          $0.recover = true
          $0.epoch = "x"
          $0.offset = .max
          $0.data = utf8(#""d""#)
          $0.positioned = true
          $0.recoverable = true
          $0.joinLeave = true
          $0.flag = ClientCommand.Subscribe.channelCompaction | ClientCommand.Subscribe.rejectUnrecovered
        })
    ) {
      $0.subscribe.channel = "$c"
      $0.subscribe.token = "t"
      $0.subscribe.recover = true
      $0.subscribe.epoch = "x"
      $0.subscribe.offset = .max
      $0.subscribe.data = Data(utf8(#""d""#))
      $0.subscribe.positioned = true
      $0.subscribe.recoverable = true
      $0.subscribe.joinLeave = true
      $0.subscribe.flag = 3
    },
    .init(
      #"{"id":2,"subscribe":{"channel":"c","delta":"fossil"}}"#, 2,
      .subscribe(
        with(.init()) {
          $0.channel = "c"
          $0.takesPatches = true
        })
    ) {
      $0.subscribe.channel = "c"
      $0.subscribe.delta = "fossil"
    },
    .init(
      #"{"id":2,"subscribe":{"channel":"c","delta":"vcdiff"}}"#, 2, .subscribe(with(.init()) { $0.channel = "c" })
    ) {
      $0.subscribe.channel = "c"
      $0.subscribe.delta = "vcdiff"
    },
    .init(
      """
      {"id":2,"subscribe":{"channel":"m","type":1,"phase":2,"cursor":"k9","limit":50,"asc":true,\
      "tf":{"op":"and","nodes":[{"key":"a","cmp":"in","vals":["1","2"]},{"key":"user","cmp":"neq","val":"u"}]}}}
      """, 2,
      .subscribe(
        with(.init()) {
          $0.channel = "m"
          $0.type = 1
          $0.phase = 2
          $0.cursor = "k9"
          $0.limit = 50
          $0.asc = true
          $0.filter = .all([.oneOf(key: "a", ["1", "2"]), .not(.equal(key: "user", "u"))])
        })
    ) {
      $0.subscribe.channel = "m"
      $0.subscribe.type = 1
      $0.subscribe.phase = 2
      $0.subscribe.cursor = "k9"
      $0.subscribe.limit = 50
      $0.subscribe.asc = true
      $0.subscribe.tf.op = "and"
      $0.subscribe.tf.nodes = [
        with(.init()) {
          $0.key = "a"
          $0.cmp = "in"
          $0.vals = ["1", "2"]
        },
        with(.init()) {
          $0.key = "user"
          $0.cmp = "neq"
          $0.val = "u"
        },
      ]
    },
  ]

  private static let others: [CommandExample] = [
    .init("{}", 0, .pong) { _ in },
    .init(#"{"id":3}"#, 3, .unknown) { _ in },
    .init(#"{"id":3,"unsubscribe":{"channel":"c"}}"#, 3, .unsubscribe(channel: "c")) { $0.unsubscribe.channel = "c" },
    .init(
      #"{"id":4,"publish":{"channel":"c","data":{"n":1.50}}}"#, 4,
      .publish(
        with(.init()) {
          $0.channel = "c"
          $0.data = utf8(#"{"n":1.50}"#)
        })
    ) {
      $0.publish.channel = "c"
      $0.publish.data = Data(utf8(#"{"n":1.50}"#))
    },
    .init(
      #"{"id":4,"publish":{"channel":"c","data":[],"idempotency_key":"k"}}"#, 4,
      .publish(
        with(.init()) {
          $0.channel = "c"
          $0.data = utf8("[]")
          $0.idempotencyKey = "k"
        })
    ) {
      $0.publish.channel = "c"
      $0.publish.data = Data(utf8("[]"))
      $0.publish.idempotencyKey = "k"
    },
    .init(
      #"{"id":4,"publish":{"channel":"m","type":1,"key":"k","data":1,"score":-7}}"#, 4,
      .publish(
        with(.init()) {
          $0.channel = "m"
          $0.data = utf8("1")
          $0.map = MapWrite(key: "k", score: -7)
        })
    ) {
      $0.publish.channel = "m"
      $0.publish.data = Data(utf8("1"))
      $0.publish.type = 1
      $0.publish.key = "k"
      $0.publish.score = -7
    },
    .init(
      #"{"id":4,"publish":{"channel":"m","type":1,"key":"k","removed":true}}"#, 4,
      .publish(
        with(.init()) {
          $0.channel = "m"
          $0.map = MapWrite(key: "k", removed: true)
        })
    ) {
      $0.publish.channel = "m"
      $0.publish.type = 1
      $0.publish.key = "k"
      $0.publish.removed = true
    },
    .init(#"{"id":5,"presence":{"channel":"c"}}"#, 5, .presence(channel: "c")) { $0.presence.channel = "c" },
    .init(#"{"id":6,"presence_stats":{"channel":"c"}}"#, 6, .presenceStats(channel: "c")) {
      $0.presenceStats.channel = "c"
    },
    .init(#"{"id":7,"history":{"channel":"c"}}"#, 7, .history(with(.init()) { $0.channel = "c" })) {
      $0.history.channel = "c"
    },
    .init(
      #"{"id":7,"history":{"channel":"c","limit":-1,"since":{"offset":9,"epoch":"x"},"reverse":true}}"#, 7,
      .history(
        with(.init()) {
          $0.channel = "c"
          $0.limit = -1
          $0.since = StreamPosition(epoch: "x", offset: 9)
          $0.reverse = true
        })
    ) {
      $0.history.channel = "c"
      $0.history.limit = -1
      $0.history.since = with(.init()) {
        $0.offset = 9
        $0.epoch = "x"
      }
      $0.history.reverse = true
    },
    .init(#"{"id":8,"ping":{}}"#, 8, .ping) { $0.ping = .init() },
    .init(#"{"send":{"data":1e3}}"#, 0, .send(data: utf8("1e3"))) { $0.send.data = Data(utf8("1e3")) },
    .init(#"{"id":9,"rpc":{"method":"m","data":true}}"#, 9, .rpc(method: "m", data: utf8("true"))) {
      $0.rpc.method = "m"
      $0.rpc.data = Data(utf8("true"))
    },
    .init(#"{"id":10,"refresh":{"token":"t"}}"#, 10, .refresh(token: "t")) { $0.refresh.token = "t" },
    .init(#"{"id":11,"sub_refresh":{"channel":"c","token":"t"}}"#, 11, .subRefresh(channel: "c", token: "t")) {
      $0.subRefresh.channel = "c"
      $0.subRefresh.token = "t"
    },
    .init(
      """
      {"id":12,"sub_refresh":{"channel":"c","type":1,"track":[{"signature":"1:2:ab","items":[{"key":"a","version":7},\
      {"key":"b"}]},{}],"untrack":["b"]}}
      """, 12,
      .track(
        with(.init()) {
          $0.channel = "c"
          $0.batches = [
            with(.init()) {
              $0.signature = "1:2:ab"
              $0.items = [.init(key: "a", version: 7), .init(key: "b")]
            }, .init(),
          ]
          $0.untracked = ["b"]
        })
    ) {
      $0.subRefresh.channel = "c"
      $0.subRefresh.type = 1
      $0.subRefresh.track = [.init(), .init()]
      $0.subRefresh.track[0].signature = "1:2:ab"
      $0.subRefresh.track[0].items = [.init(), .init()]
      $0.subRefresh.track[0].items[0].key = "a"
      $0.subRefresh.track[0].items[0].version = 7
      $0.subRefresh.track[0].items[1].key = "b"
      $0.subRefresh.untrack = ["b"]
    },
    .init(
      #"{"id":13,"sub_refresh":{"channel":"c","type":2,"untrack":["a","b"]}}"#, 13,
      .untrack(channel: "c", keys: ["a", "b"])
    ) {
      $0.subRefresh.channel = "c"
      $0.subRefresh.type = 2
      $0.subRefresh.untrack = ["a", "b"]
    },
    .init(#"{"id":14,"sub_refresh":{"channel":"c","type":3}}"#, 14, .unknown) {
      $0.subRefresh.channel = "c"
      $0.subRefresh.type = 3
    },
  ]
}
