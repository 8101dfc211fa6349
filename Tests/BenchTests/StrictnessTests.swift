import TestSupport
import Testing

@Suite("What may be left out") struct StrictnessTests {
  @Test("is what the machine lacks; under FANFARE_STRICT=1 only what is named as lacking")
  func runs() {
    let anywhere = Strictness([:])
    #expect(anywhere.runs(.tmpfs, isThere: true))
    #expect(!anywhere.runs(.tmpfs, isThere: false))
    let strict = Strictness(["FANFARE_STRICT": "1", "FANFARE_LACKS": "peers, autobahn"])
    #expect(strict.runs(.tmpfs, isThere: false))
    #expect(!strict.runs(.peers, isThere: false))
    #expect(!strict.runs(.autobahn, isThere: false))
    #expect(strict.runs(.autobahn, isThere: true), "what is there is tested, lacking or not")
    #expect(Strictness(["FANFARE_STRICT": "1"]).runs(.ioUring, isThere: false))
  }

  @Test("is named by a name that means something, here and now")
  func names() {
    #expect(Strictness(["FANFARE_LACKS": "peers,tmpsf"]).unknown == ["tmpsf"])
    #expect(Strictness().unknown == [])
  }
}
