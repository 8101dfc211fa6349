import Apps
import TestSupport
import Testing
import Wire

@Suite("Whether what a publication of State tells of is sealed")
struct StateSealTests {
  private let app = StateApp(rules: StateRules(), vault: NoVault())

  private struct NoVault: KeyVault {
    func seal(_ key: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedKey {
      SealedKey(hour: 0, box: Bytes64(key))
    }
    func release(_ key: SealedKey) throws(KeyVaultError) -> ReleasedKey { ReleasedKey(box: key.box) }
    func open(_ key: ReleasedKey) throws(KeyVaultError) -> [UInt8] { key.box.bytes }
    func open(_ key: SealedKey) throws(KeyVaultError) -> [UInt8] { key.box.bytes }
    func encrypt(_ text: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedText {
      SealedText(key: SealedKey(hour: 0, box: Bytes64([])), box: Bytes64(text))
    }
    func decrypt(_ box: Bytes64, with key: ReleasedKey) throws(KeyVaultError) -> [UInt8] { box.bytes }
  }

  static let phases: [(String, AppSeal?)] = [
    ("sent", .untilAnswered), ("received", .untilAnswered), ("expired", .forEver), ("revealed", nil), ("idle", nil),
    ("tomorrow", nil),
  ]

  @Test("by the phase that a notice or an entry of a thread list tells", arguments: phases)
  func seals(_ phase: String, _ seal: AppSeal?) throws {
    let notice = Array(#"{"event":"\#(phase)","with":"ben","since":1,"until":2}"#.utf8)
    #expect(app.seal(of: Publication(offset: 1, data: notice), on: try ChannelName("state.events:ann")) == seal)
    let entry = Array(#"{"with":"ben","phase":"\#(phase)","colour":"x"}"#.utf8)
    #expect(app.seal(of: Publication(offset: 1, data: entry), on: try ChannelName("state.threads:ann")) == seal)
    #expect(app.seal(of: Publication(offset: 1, data: notice), on: try ChannelName("chat:1")) == nil)
    #expect(app.seal(of: Publication(offset: 1, data: []), on: try ChannelName("state.events:ann")) == nil)
  }
}
