import Settings
import Testing
import Wire

@Suite("Settings of shared polls")
struct SharedPollSettingsTests {
  private static let secret = String(repeating: "s", count: 32)

  private func file(
    _ options: String = "", polls: String = #""hmac_secret": "\#(secret)""#,
    proxies: String = #""shared_poll_refresh": {"endpoint": "http://127.0.0.1:3000/poll"}"#
  ) -> String {
    #"""
    {"proxies": {\#(proxies)}, "shared_poll": {\#(polls)},
     "channel": {"namespaces": [{"name": "votes", "kind": "shared_poll"\#(options)}]}}
    """#
  }

  @Test("A namespace, the backend's address and a secret are all it takes")
  func least() throws {
    let settings = try load(file())
    let options = try #require(settings.channels.namespaces["votes"])
    #expect(options.kind == .sharedPoll && options.poll == PollOptions())
    #expect(options.poll.intervalMilliseconds == 10_000 && !options.poll.isVersioned)
    #expect(settings.sharedPoll.hasSecret && settings.sharedPoll.maxDataBytes == 64 << 20)
    #expect(settings.proxies.sharedPollRefresh.isOn && settings.proxies.sharedPollRefresh.httpHeaders == nil)
  }

  @Test("Its options are read, and mean nothing on a stream")
  func options() throws {
    let given =
      #", "poll_mode": "versioned", "poll_interval": "1s", "poll_batch_size": 10, "poll_max_keys_per_client": 20, "poll_max_keys": 30"#
    let poll = try #require(try load(file(given)).channels.namespaces["votes"]).poll
    #expect(poll.isVersioned && poll.intervalMilliseconds == 1000 && poll.batchSize == 10)
    #expect(poll.keysPerClient == 20 && poll.keysPerChannel == 30)
    let stream = try load(#"{"channel": {"without_namespace": {"poll_interval": "1s"}}}"#)
    #expect(stream.channels.withoutNamespace.poll == PollOptions())
  }

  @Test("Without a backend or a secret it is refused")
  func missing() {
    let noBackend = problems(file(proxies: ""))
    #expect(
      noBackend.count == 1 && noBackend[0].contains("votes.kind")
        && noBackend[0].contains("proxies.shared_poll_refresh.endpoint is not set"), "\(noBackend)")
    let noSecret = problems(file(polls: ""))
    #expect(noSecret.count == 1 && noSecret[0].contains("shared_poll.hmac_secret is not set"), "\(noSecret)")
    #expect(problems(file(polls: #""hmac_secret_file": "secret""#)) == ["accepted"])
  }

  @Test(
    "What is about publications, histories and who is there is refused",
    arguments: [
      #""presence": true"#, #""join_leave": true"#, #""allow_publish_for_client": true"#,
      #""allow_history_for_subscriber": true"#, #""allow_presence_for_anonymous": true"#, #""follows_channel": true"#,
      #""publish_interval": "1s""#,
    ])
  func meaningless(_ option: String) {
    let found = problems(file(", " + option))
    #expect(found.count == 1 && found[0].contains("of a shared poll nothing is published or kept"), "\(found)")
  }

  @Test(
    "Secrets that contradict each other are refused, and none is shown",
    arguments: [
      (#""hmac_secret": "\#(secret)", "hmac_secret_file": "f""#, "and so is shared_poll.hmac_secret"),
      (#""hmac_secret": "short""#, "has 5 bytes"),
      (#""hmac_secret": "\#(secret)", "hmac_previous_secret_until": 5"#, "shared_poll.hmac_previous_secret is not"),
    ])
  func secrets(_ polls: String, _ words: String) {
    let found = problems(file(polls: polls))
    #expect(found.count == 1 && found[0].contains(words), "\(found)")
    #expect(!found.joined().contains(Self.secret) && !found.joined().contains("short"))
  }

  @Test("A previous secret without a newer one is refused")
  func previous() {
    let found = problems(#"{"shared_poll": {"hmac_previous_secret": "\#(Self.secret)"}}"#)
    #expect(found.count == 1 && found[0].contains("there is none that came after it"), "\(found)")
  }
}
