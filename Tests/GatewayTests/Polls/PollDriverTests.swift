import Cryptography
import NIOCore
import NIOEmbedded
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("SessionDriver and shared polls")
struct PollDriverTests {
  private final class Scene {
    let loop = EmbeddedEventLoop()
    let transport: RecordingTransport
    let host = RecordingHost()
    let driver: SessionDriver

    init() {
      transport = RecordingTransport(eventLoop: loop)
      host.transport = transport
      host.pollEpoch = "e"
      var configuration = SessionConfiguration()
      configuration.allowAnonymous = true
      let options = ChannelOptions().with {
        $0.kind = .sharedPoll
        $0.allowSubscribeForAnonymous = true
      }
      driver = SessionDriver(
        transport: transport, host: host,
        rules: SessionRules(
          configuration, namespaces: NamespaceTable(withoutNamespace: options),
          trackSignatures: TrackSignatures(key: SecretKey(Array(TrackSignatureTests.secret.utf8)))),
        identity: .init(client: "c", session: "s"), firstPingDelayMilliseconds: 10_000)
      driver.opened()
      say(#"{"id":1,"connect":{}}"#)
    }

    /// - Returns: what was sent because of it, by frames.
    @discardableResult
    func say(_ text: String) -> [String] {
      let before = transport.frames.count
      driver.received(ByteBuffer(string: text))
      driver.readCompleted()
      return sent(since: before)
    }

    func push(_ key: String, to number: UInt64) -> [String] {
      let before = transport.frames.count
      let publication = Publication(data: Array("1".utf8), change: KeyChange(key: key, version: 1))
      driver.push(PolledFrames(publication, on: channel("c"), isBinary: false), to: number)
      return sent(since: before)
    }

    private func sent(since before: Int) -> [String] {
      transport.frames[before...].map { String(decoding: ServerFrame.payload(of: $0), as: UTF8.self) }
    }

    static func track(_ id: Int) -> String {
      let signature = TrackSignatureTests.signature(["a"], user: "", end: 0)
      return
        #"{"id":\#(id),"sub_refresh":{"channel":"c","type":1,"track":[{"signature":"\#(signature)","items":[{"key":"a"}]}]}}"#
    }
  }

  @Test("a subscribe and a track in one message are answered in their order, and what is pushed stands behind")
  func order() throws {
    let scene = Scene()
    let replies = scene.say(#"{"id":2,"subscribe":{"channel":"c","type":4}}"# + "\n" + Scene.track(3))
    #expect(
      replies == [#"{"id":2,"subscribe":{"epoch":"e","type":4}}"# + "\n" + #"{"id":3,"sub_refresh":{}}"#])
    let number = scene.driver.session.subscriptions[channel("c")]?.grant?.poll?.number ?? 0
    #expect(scene.host.log == ["track [\"a\"] of \(number) after 1 frames"])
    #expect(
      scene.push("a", to: number) == [#"{"push":{"channel":"c","pub":{"data":1,"key":"a","version":1}}}"#])
  }

  @Test("what was on its way to a subscription that is over reaches nobody, not even the next one of the channel")
  func late() {
    let scene = Scene()
    scene.say(#"{"id":2,"subscribe":{"channel":"c","type":4}}"#)
    let number = scene.driver.session.subscriptions[channel("c")]?.grant?.poll?.number ?? 0
    scene.say(#"{"id":3,"sub_refresh":{"channel":"c","type":2,"untrack":["a"]}}"#)
    scene.say(#"{"id":4,"unsubscribe":{"channel":"c"}}"#)
    #expect(scene.host.log == ["untrack [\"a\"] of \(number)", "leave c of \(number)"])
    #expect(scene.push("a", to: number).isEmpty)
    scene.say(#"{"id":5,"subscribe":{"channel":"c","type":4}}"#)
    #expect(scene.push("a", to: number).isEmpty)
    scene.driver.pollRestarted(channel("c"), number)
    #expect(scene.driver.session.subscriptions[channel("c")] != nil)
  }
}
