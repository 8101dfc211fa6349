import Settings
import Testing

@Suite("What is wrong with a configuration is told")
struct ProblemsTests {
  @Test("All problems are told at once, from the top of the file down, then environment and flags")
  func allAtOnce() {
    let json = """
      {
        "server": {
          "prot": 8000,
          "port": 70000
        },
        "client": {
          "ping_interval": 25
        }
      }
      """
    let found = problems(
      json, environment: ["FANFARE_LOG_LEVEL": "loud"], overrides: ["client.max_chanels": "3"])
    #expect(
      found == [
        "f.json:3: server.prot: is not a key; did you mean \"server.port\"?",
        "f.json:4: server.port: is 70000; write a whole number from 0 to 65535",
        "f.json:7: client.ping_interval: is the number 25; write a duration from 1s to 1h with its unit (ms, s, m, h), for example \"25s\"",
        "environment variable FANFARE_LOG_LEVEL: log.level: is \"loud\"; write \"trace\" or \"debug\" or \"info\" or \"notice\" or \"warning\" or \"error\" or \"critical\"",
        "--set: client.max_chanels: is not a key; did you mean \"client.max_channels\"?",
      ])
    #expect(
      problems("{}", overrides: ["data": "elsewhere"]) == [
        "--set: data: is not a key but a section; name one of its keys, for example \"data.directory\""
      ])
  }

  @Test("The whole error counts the problems and lists each on a line")
  func description() {
    let error = #expect(throws: SettingsError.self) { try load(#"{"a": 1, "b": 2}"#) }
    #expect(error?.description.hasPrefix("the configuration has 2 problems:\n  f.json:1: a: is not a key") == true)
    #expect(error?.problems[0].source == .file("f.json", line: 1))
    #expect(error?.problems[0].keyPath == "a")
  }

  @Test(
    "A value of the wrong type is refused",
    arguments: [
      (#"{"server": {"port": "8000"}}"#, "server.port: is \"8000\"; write a whole number from 0 to 65535"),
      (#"{"server": {"port": 80.5}}"#, "server.port: is 80.5; write a whole number from 0 to 65535"),
      (#"{"server": {"port": 1e3}}"#, "server.port: is 1e3; write a whole number from 0 to 65535"),
      (#"{"server": {"port": null}}"#, "server.port: is null; write a whole number from 0 to 65535"),
      (#"{"server": {"tls": {"enabled": "true"}}}"#, "server.tls.enabled: is \"true\"; write true or false"),
      (#"{"server": {"tls": {"enabled": 1}}}"#, "server.tls.enabled: is the number 1; write true or false"),
      (#"{"server": {"host": ["a"]}}"#, "server.host: is a list; write text in double quotes"),
      (#"{"server": {"host": {}}}"#, "server.host: is an object; write text in double quotes"),
      (
        #"{"server": {"allowed_origins": "*"}}"#,
        "server.allowed_origins: is \"*\"; write a list of texts, for example [\"one\", \"two\"]"
      ),
      (
        #"{"server": {"allowed_origins": [1]}}"#,
        "server.allowed_origins: is a list; write a list of texts, for example [\"one\", \"two\"]"
      ),
      (#"{"log": {"format": "xml"}}"#, "log.format: is \"xml\"; write \"text\" or \"json\""),
      (#"{"server": 5}"#, "server: is not an object; write { \"address\": … }"),
      (#"[]"#, "the file does not hold an object; write { \"account\": … }"),
      (
        #"{"channel": {"namespaces": {}}}"#,
        "channel.namespaces: is not a list; write [ { \"name\": \"chat\", \"presence\": true } ]"
      ),
      (
        #"{"channel": {"namespaces": ["chat"]}}"#,
        "channel.namespaces[0]: is not an object; write { \"name\": \"chat\", \"presence\": true }"
      ),
    ])
  func wrongType(_ json: String, _ expected: String) {
    #expect(problems(json) == ["f.json:1: " + expected])
  }

  @Test(
    "A duration that is none is refused",
    arguments: [
      "25", "s", "", "25 s", "-1s", "+1s", "1.5s", "1d", "1h30m", "99999999999999999999s", "9223372036854775807h", "0s",
      "２５s",
    ])
  func durations(_ text: String) {
    let found = problems(#"{"client": {"ping_interval": "\#(text)"}}"#)
    #expect(found.count == 1 && found[0].contains("write a duration from 1s to 1h with its unit"))
  }

  @Test(
    "A size that is none is refused", arguments: ["64KB", "64k", "KiB", "-1", "1.5MiB", "9223372036854775807GiB", "1B"])
  func sizes(_ text: String) {
    let found = problems(#"{"client": {"max_message_bytes": "\#(text)"}}"#)
    #expect(found.count == 1 && found[0].contains("write bytes from 256 to 16MiB, as a number or with a unit"))
  }

  @Test(
    "A value at the edge of its range is accepted, one beyond is refused",
    arguments: [("0", true), ("65535", true), ("65536", false), ("-1", false)])
  func range(_ port: String, _ accepted: Bool) {
    #expect((problems(#"{"server": {"port": \#(port)}}"#) == ["accepted"]) == accepted)
  }

  @Test(
    "A close name is suggested",
    arguments: [
      (#"{"cleint": {}}"#, "cleint: is not a key; did you mean \"client\"?"),
      (
        #"{"client": {"pingInterval": "1s"}}"#,
        "client.pingInterval: is not a key; did you mean \"client.ping_interval\"?"
      ),
      (#"{"ping_interval": "1s"}"#, "ping_interval: is not a key; did you mean \"client.ping_interval\"?"),
      (#"{"zzz": 1}"#, "zzz: is not a key; remove it (docs/CONFIGURATION.md lists all keys)"),
      (
        #"{"channel": {"without_namespace": {"presense": true}}}"#,
        "channel.without_namespace.presense: is not a key; did you mean \"channel.without_namespace.presence\"?"
      ),
      (#"{"channel": {"namespace": []}}"#, "channel.namespace: is not a key; did you mean \"channel.namespaces\"?"),
      (
        #"{"channel": {"namespaces": [{"name": "chat", "history_sise": 1}]}}"#,
        "channel.namespaces.chat.history_sise: is not an option of a namespace; did you mean \"history_size\"?"
      ),
    ])
  func suggestions(_ json: String, _ expected: String) { #expect(problems(json) == ["f.json:1: " + expected]) }

  @Test("An unknown variable that begins like ours is refused, any other is left alone")
  func unknownVariable() {
    #expect(
      problems("{}", environment: ["FANFARE_CLIENT_PING_INTERVALL": "1s", "FANFARE": "x", "HOME": "/"])
        == [
          "environment variable FANFARE_CLIENT_PING_INTERVALL: is not a setting; did you mean FANFARE_CLIENT_PING_INTERVAL?"
        ])
    #expect(
      problems("{}", environment: ["FANFARE_CLIENT_PING_INTERVAL": ""])[0]
        .hasPrefix("environment variable FANFARE_CLIENT_PING_INTERVAL: client.ping_interval: is \"\"; write a duration")
    )
    #expect(
      problems("{}", environment: ["FANFARE_STRICT": "1", "FANFARE_TESTING": "1", "FANFARE_CONFIG": "x"]) == [
        "accepted"
      ])
  }

  @Test("A variable that would stand for two namespaces is refused")
  func ambiguousVariable() {
    let json = #"{"channel": {"namespaces": [{"name": "a-b"}, {"name": "a_b"}]}}"#
    #expect(problems(json) == ["accepted"])
    #expect(
      problems(json, environment: ["FANFARE_CHANNEL_NAMESPACES_A_B_PRESENCE": "true"]) == [
        "environment variable FANFARE_CHANNEL_NAMESPACES_A_B_PRESENCE: stands for channel.namespaces.a-b.presence and for channel.namespaces.a_b.presence; use --set instead"
      ])
  }

  @Test("A flag for a namespace that is not there, or for the list itself, says what to do")
  func namespaceFlags() {
    #expect(
      problems("{}", overrides: ["channel.namespaces.chat.presence": "true"]) == [
        "--set: channel.namespaces.chat.presence: names a namespace that the file does not have; add { \"name\": \"chat\" } there"
      ])
    #expect(
      problems("{}", overrides: ["channel.namespaces": "[]"]) == [
        "--set: channel.namespaces: is a list of objects; write it in the file"
      ])
    #expect(problems("{}", overrides: ["channel.namespaces.": "x"]) != ["accepted"])
  }

  @Test("A secret is never shown")
  func secrets() {
    let found = problems(#"{"token": {"hmac_secret": 1234567}}"#) + problems(#"{"token": {"hmac_secret": "hunter2"}}"#)
    #expect(found.count == 2 && !found.contains { $0.contains("1234567") || $0.contains("hunter2") })
  }

  @Test("A value is shown without control characters and not at full length")
  func escapes() {
    let found = problems("{}", overrides: ["log.level": "\u{1B}[31m" + String(repeating: "a", count: 500)])
    #expect(found.count == 1 && !found[0].contains("\u{1B}") && found[0].utf8.count < 300)
  }

  @Test("A file that is not there is said in a sentence")
  func missingFile() {
    let error = #expect(throws: SettingsError.self) { try Settings.load(file: "/does/not/exist.json") }
    #expect(error?.description.contains("/does/not/exist.json:1: the file does not exist or may not be read") == true)
    #expect(throws: SettingsError.self) { try Settings.check("/") }
  }
}
