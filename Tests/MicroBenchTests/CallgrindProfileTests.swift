import Testing

@testable import MicroBench

@Suite("A callgrind profile")
struct CallgrindProfileTests {
  /// As valgrind 3.19 writes it, shortened.
  static let recorded = """
    # callgrind format
    version: 1
    creator: callgrind-3.19.0
    pid: 5234
    cmd:  program micro --run decode-publish-json --iterations 2000
    part: 1

    desc: I1 cache:
    desc: Timerange: Basic block 0 - 12955462
    desc: Trigger: Program termination

    positions: line
    events: Ir
    summary: 79691750

    ob=(3) /usr/lib/libc.so.6
    fl=(1) ???
    fn=(10) decode
    0 40
    cob=(7) /usr/lib/libswiftCore.so
    cfi=(2) ???
    cfn=(12) swift_allocObject
    calls=2 0
    0 90
    cfn=(14) swift_release
    calls=5 0
    0 70

    fn=(12)
    0 20
    cfn=(16) malloc
    calls=2 0
    0 60

    fn=(14)
    0 35
    cfn=(18) swift_release'2
    calls=3 0
    0 12
    cfn=(20) $s4Wire13ClientCommandV4BodyOwxx
    calls=1 0
    0 9

    fn=(22) main
    0 7
    cfn=(16)
    calls=1 +4
    0 30

    totals: 79691750
    """

  private static func profile(_ text: String) throws -> CallgrindProfile { try CallgrindProfile(Array(text.utf8)) }

  @Test("tells the run's instructions")
  func instructions() throws {
    #expect(try Self.profile(Self.recorded).instructions == 79_691_750)
  }

  @Test("adds up a function's calls from all its callers, by its number and by its name")
  func calls() throws {
    let profile = try Self.profile(Self.recorded)
    #expect(profile.calls["malloc"] == 3)
    #expect(profile.calls["swift_allocObject"] == 2)
    #expect(profile.calls(of: ["malloc", "calloc"]) == 3)
  }

  @Test("counts the calls of a function from within itself as its own")
  func recursion() throws {
    #expect(try Self.profile(Self.recorded).calls["swift_release"] == 8)
  }

  @Test("counts an allocation once that the C library passes on")
  func passedOn() throws {
    let text =
      "fn=(1) a\ncfn=(2) posix_memalign\ncalls=4 0\n0 1\nfn=(3) _mid_memalign.constprop.0\ncfn=(4) malloc\ncalls=4 0\n"
      + "0 1\nfn=(5) b\ncfn=(4)\ncalls=3 0\n0 1\ntotals: 9\n"
    #expect(try Self.profile(text).calls(of: ["malloc", "posix_memalign"]) == 7)
  }

  @Test("that ends early is refused, not taken for a small count")
  func cut() {
    let cut = Self.recorded.replacing("totals: 79691750", with: "")
    #expect(throws: CallgrindProfile.Unreadable()) { try Self.profile(cut) }
    #expect(throws: CallgrindProfile.Unreadable()) { try Self.profile("") }
    let garbled = Self.recorded.replacing("calls=5 0", with: "calls=many 0")
    #expect(throws: CallgrindProfile.Unreadable()) { try Self.profile(garbled) }
  }

  @Test("of twice as many iterations leaves, without the shorter one's, the iterations alone")
  func difference() throws {
    let shorter = try Self.profile("fn=(1) a\ncfn=(2) malloc\ncalls=110 0\n0 1\ntotals: 1000000\n")
    let longer = try Self.profile(
      "fn=(1) a\ncfn=(2) malloc\ncalls=211 0\n0 1\ncfn=(3) swift_retain\ncalls=300 0\n0 9\ntotals: 1500049\n")
    let counts = Counts(from: shorter, to: longer, iterations: 100)
    #expect(counts == Counts(instructions: 5_000, allocations: 1.01, references: 3))
  }
}
