/// Seeds that are texts.
enum SeedTexts {
  /// Lines end in one character here and in two on the wire.
  static let heads = [
    """
    GET /connection/websocket?cf_protocol=protobuf HTTP/1.1
    Host: example.com
    Connection: keep-alive, Upgrade
    Upgrade: websocket
    Origin: https://example.com
    Sec-WebSocket-Version: 13
    Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==
    Sec-WebSocket-Protocol: centrifuge-protobuf
    Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits; server_max_window_bits=12


    """,
    """
    PUT /clique/pictures?id=0123456789abcdef0123456789abcdef HTTP/1.1
    Host: example.com
    Authorization: Bearer token
    Content-Length: 10
    Content-Range: bytes 5-14/20
    Expect: 100-continue

    0123456789
    """,
    """
    GET /state/pictures/0123456789abcdef0123456789abcdef HTTP/1.1
    Host: example.com
    Authorization: Bearer token
    Range: bytes=5-
    If-Range: "tag"
    If-None-Match: W/"other", "more"


    """,
    """
    GET /connection/sse?cf_connect=%7B%22id%22%3A1,+%22connect%22:%7b%7d%7D HTTP/1.1
    Host: example.com


    """,
    """
    POST /emulation HTTP/1.1
    Host: example.com
    Content-Type: application/octet-stream
    Content-Length: 3

    abc
    """,
    "OPTIONS /connection/http_stream HTTP/1.1\nHost: a\nOrigin: https://x.example.com\n\n",
    "HEAD /health HTTP/1.0\nHost: a\n\n", "GET /fanfare.js HTTP/1.1\nHost: a\nIf-None-Match: *\n\n",
  ]

  static let fields = [
    "permessage-deflate; server_max_window_bits=\"10\"; client_no_context_takeover, x-other; a=b",
    "192.0.2.1, [2001:db8::1]:443, 127.0.0.1", "bytes=0-99\nbytes=-5\n\"tag\", W/\"other\"",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "https://sub.example.com:443\nsub.example.com",
    "a+b%20c%7b",
  ]

  static let commands = [
    #"{"id":1,"connect":{}}"#,
    #"{"id":4294967295,"connect":{"token":"t.o.k","data":{"a": [1]},"name":"js","version":"1.2","reconnects":true,"#
      + #""subs":{"news":{"recover":true,"epoch":"x","offset":5}}}}"#,
    #"{"id":2,"subscribe":{"channel":"$c","token":"t","recover":true,"epoch":"x","offset":18446744073709551615,"#
      + #""data":"d","positioned":true,"recoverable":true,"join_leave":true,"flag":3,"delta":"fossil","#
      + #""tf":{"op":"and","nodes":[{"key":"k","cmp":"eq","val":"v"},{"key":"n","cmp":"gt","val":"-2.5"}]}}}"#,
    #"{"id":3,"subscribe":{"channel":"m","type":1,"phase":2,"cursor":"3:k","limit":-1,"asc":true}}"#,
    #"{"id":4,"unsubscribe":{"channel":"c"}}"#,
    #"{"id":5,"publish":{"channel":"c","data":{"text":"\ud83d\ude00é😀\n\u0041"},"idempotency_key":"k"}}"#,
    #"{"id":6,"publish":{"channel":"m","data":null,"type":1,"key":"k","removed":true,"score":-5}}"#,
    #"{"id":7,"presence":{"channel":"c"}}"#, #"{"id":8,"presence_stats":{"channel":"c"}}"#,
    #"{"id":9,"history":{"channel":"c","limit":10,"since":{"epoch":"e","offset":3},"reverse":true}}"#,
    #"{"id":10,"ping":{}}"#, #"{"send":{"data":[1]}}"#, #"{"id":11,"rpc":{"method":"m","data":{}}}"#,
    #"{"id":12,"refresh":{"token":"t"}}"#, #"{"id":13,"sub_refresh":{"channel":"c","token":"t"}}"#, "{}",
  ]

  static let json = [
    #"{"x":[[[{"a":[-1.5e+10,null,true]}]]],"é":"e\u0301","\"":"\\"}"#, "[]", "-0.0", #""""#, " [ 1 , 2 ]\n",
    #"{"a":1,"b":{"a":2,"a":3}}"#,
  ]

  static let filters = [
    #"{"op":"and","nodes":[{"key":"a","cmp":"eq","val":"1"},{"op":"not","nodes":[{"key":"b","cmp":"ex"}]}]}"#,
    #"{"op":"or","nodes":[{"key":"a","cmp":"in","vals":["1","2"]},{"key":"b","cmp":"nin","vals":["x"]}]}"#,
    #"{"key":"é","cmp":"lte","val":"-2.5"}"#, #"{"key":"user","cmp":"sw","val":"u"}"#,
    #"{"key":"key","cmp":"ct","val":"k"}"#, #"{"key":"b","cmp":"nex"}"#, #"{"key":"b","cmp":"ew","val":"y"}"#,
  ]

  private static let pair = "p" + String(repeating: "0", count: 32)
  private static let group = "g" + String(repeating: "f", count: 32)
  private static let picture = String(repeating: "f", count: 22)

  static let appCommands: [(method: String, data: String)] = [
    ("clique.send", #"{"to":"v","text":"hi"}"#),
    ("clique.send", #"{"conversation":"\#(group)","text":"caf\u00e9 \"\n","key":"k","reply":1,"mentions":["v","w"]}"#),
    ("clique.send", #"{"to":"v","text":"","picture":{"hash":"LEHV6n","id":"\#(picture)"},"key":"k"}"#),
    ("clique.accept", #"{"conversation":"\#(pair)"}"#), ("clique.block", #"{"person":"v"}"#),
    ("clique.read", #"{"conversation":"\#(pair)","offset":9223372036854775807}"#),
    ("clique.typing", #"{"conversation":"\#(pair)"}"#),
    ("clique.group.create", #"{"members":["v","w","v"],"name":"n","key":"k"}"#),
    ("clique.group.add", #"{"conversation":"\#(group)","members":["v"]}"#),
    ("clique.group.rename", #"{"conversation":"\#(group)","name":"n"}"#),
    ("clique.group.link", #"{"conversation":"\#(group)","lifetime":1000,"uses":1}"#),
    ("clique.group.revoke", #"{"conversation":"\#(group)","id":"0123abcd"}"#),
    ("clique.group.join", #"{"link":"\#(group).\#(String(repeating: "0", count: 32))"}"#),
    ("clique.keep", #"{"conversation":"\#(group)","muted":false,"archived":false,"pinned":true}"#),
    ("clique.draft", #"{"person":"v","text":"t","reply":7}"#), ("clique.totals", ""),
    ("clique.react", #"{"conversation":"\#(pair)","offset":1,"reaction":"👍🏽"}"#),
    ("clique.report", #"{"conversation":"\#(group)","offset":7,"reason":"other","text":"see"}"#),
    ("clique.disappear", #"{"person":"v","after":60000}"#),
    ("clique.search", #"{"text":"a b","person":"v","conversation":"\#(pair)","limit":3}"#),
    ("clique.enter", #"{"place":"café","token":7}"#), ("clique.invisible", #"{"on":true}"#),
    ("clique.crossings", #"{"order":"time","limit":0}"#),
    ("clique.profile.set", #"{"name":"n","fields":{"a":"b","c":null},"picture":{"id":"\#(picture)","small":"s"}}"#),
    ("clique.profiles", #"{"people":["v","w"]}"#), ("clique.people", #"{"text":"an","limit":3}"#),
    ("state.begin", #"{"to":"v"}"#),
    (
      "state.send",
      #"{"to":"v","front":"\#(picture)","rear":"\#(picture)r","caption":"c","reply_limit":1000,"key":"k"}"#
    ),
    ("state.react", #"{"with":"v","reaction":"+"}"#), ("state.cancel", #"{"to":"v","pictures":["\#(picture)"]}"#),
    ("state.settings", #"{"limit":60000}"#), ("state.discard", #"{"pictures":["\#(picture)"]}"#),
    ("push.register", #"{"device":{"kind":"fcm","token":"t"}}"#), ("push.devices", ""),
    ("push.seen", #"{"id":"n"}"#), ("other.method", #"{"a":1}"#),
  ]

  /// Parameters of all methods of services.
  static let parameters =
    #"{"channel":"a","user":"u","client":"c","key":"k","offset":1,"limit":5,"method":"a.b","uid":"t","reason":"r","#
    + #""code":4000,"tags":{"a":"b"},"idempotency_key":"i","name":"w","position":1,"since":{"epoch":"e","offset":1}}"#

  /// The method is a place in the list of `APITargets`: 0 is a batch, 1 publishes, 2 does so on several channels.
  static let calls: [(method: UInt8, body: String)] = [
    (1, #"{"channel":"a","data":{"a":1},"idempotency_key":"i","tags":{"a":"b"}}"#),
    (2, #"{"channels":["a","b"],"b64data":"AQI="}"#),
    (
      0,
      #"{"parallel":true,"commands":[{"publish":{"channel":"a","data":1}},{"broadcast":{"channels":["a"],"data":2}},"#
        + #"{"presence":{"channel":"a"}},{"disconnect":{"user":"u","disconnect":{"code":4000}}},{"info":{}}]}"#
    ),
    (0, #"{"commands":[{"publish":{"channel":"a","data":1}},{"history":{"channel":"a","limit":5}},{"no":{}}]}"#),
  ]

  static let devices = [
    #"{"kind":"fcm","token":"abc:def-ghi_123456"}"#,
    #"{"kind":"apns","token":"\#(String(repeating: "0a", count: 32))","topic":"com.example.app","#
      + #""environment":"production"}"#,
    #"{"kind":"web","endpoint":"https://push.example.com/a/b?c=d","keys":{"p256dh":"#
      + #""BDfNV0lV0fmYzjhDJERLh3JBrabnO-41YVkwCCft0EwKb3OH_K8uJnJSn8gOK63Z2l-khE07ixyur0_RFOraGxg","#
      + #""auth":"AAAAAAAAAAAAAAAAAAAAAA"}}"#,
  ]

  static let claims = [
    #"{"sub":"u","exp":1700003600,"iat":1699999000,"iss":"i","aud":["a","b"],"jti":"1","info":{"name": "Ada"},"#
      + #""meta":[1],"channels":["c"],"subs":{"d":{"info":1,"override":{"presence":{"value":true}}}}}"#,
    #"{"sub":"u","channel":"c","exp":1.7000036e9,"expire_at":0,"info":{"a":1},"data":"d"}"#,
    #"{"sub":"u","place":"cafe","exp":1700000060}"#, #"{"sub":"u","exp":1700003600,"iss":"i","aud":"a"}"#,
  ]

  /// Its signature is of no key that is known here.
  static let token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJ1In0.c2ln"

  static let keySets = [
    #"{"keys":[{"kty":"EC","crv":"P-256","kid":"1","use":"sig","alg":"ES256","#
      + #""x":"N81XSVXR-ZjOOEMkREuHckGtpuc77jVhWTAIJ-3QTAo","y":"b3OH_K8uJnJSn8gOK63Z2l-khE07ixyur0_RFOraGxg"}]}"#,
    #"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":"w66Ekow5Gdc2o2gyDIgoQFRV8V8omu9Xdm4Whr1AKaw"}]}"#,
    #"{"keys":[{"kty":"RSA","kid":"1","e":"AQAB","key_ops":["verify"],"n":""#
      + "tDXF2-zWo8jjiIvaq1uWZ-wsJeMIYXkAszAjtjU17L_GKd3wTKwtqz72OoZQjRv26sCxLTdNbvaPEFnngkducfCMYiN2zmyUQya0Vc"
      + "_ZgE_9tqmLiywS4kTiqd-rBBXUTptvUxccqucr7Myv63mOi9H7pW5EeOtVwz3l7BcFAu31TMROwBPgMmN_d6zcDIoRQLiim8k614iy"
      + "pauGG17tWW5ilsKjrth1sFS3t439VnOHIIsAeYZL3UGQf9EkpdvkuL8vK7yd-ABjMYf7-rMXJLPA7l-yYCz6Ug8sfFIHj-7Ao3wmhR"
      + #"9HEZkIcvT6IZFWUHpWPQyXFW1VwfZuByRa8w"}]}"#,
    #"{"keys":[{"kty":"oct","kid":"1","k":"AAAA"},{"kty":"EC","crv":"P-256","kid":"2","use":"enc"}]}"#,
    #"[{"name":"n","sha256":"00","methods":["publish"]}]"#,
  ]

  static let configurations = [
    "{}", "{\n  \"server\": { \"port\": 8000, \"host\": \"127.0.0.1\" },\n  \"log\": { \"engine\": \"memory\" }\n}",
    #"{"channel":{"without_namespace":{"presence":true,"history_size":10,"history_ttl":"60s"},"#
      + #""namespaces":[{"name":"chat","allow_subscribe_for_client":true,"history_size":5,"history_ttl":"1h"}]}}"#,
    #"{"server":{"prot":1,"port":"x"},"client":{"ping_interval":"25s","ping_interval":"1s"}}"#,
    #"{"webhooks":[{"name":"w","url":"https://example.com/hook"}],"token":{"hmac_secret":"short"}}"#,
  ]

  static let backendReplies = [
    #"{"result":{"user":"u","expire_at":1700000000,"data":{"a":1},"meta":[1],"channels":["c"],"info":{"n": 1},"#
      + #""subs":{"d":{"b64info":"e30=","override":{"join_leave":{"value":true}}}}}}"#,
    #"{"error":{"code":1000,"message":"no","temporary":true}}"#, #"{"disconnect":{"code":4500,"reason":"r"}}"#,
    #"{"result":{"expired":true,"skip_history":true,"b64data":"AQI="}}"#,
  ]

  static let storeAnswers = [
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <ListBucketResult xmlns="x"><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
    <NextContinuationToken>t&amp;</NextContinuationToken><Contents><Key>a%2Fb</Key></Contents></ListBucketResult>
    """,
    "<Error><Code>NoSuchKey</Code><Message>it is not there&#10;</Message></Error>",
    "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>", "<a/>", "bytes 0-83/1000",
  ]
}
