import Testing

@testable import Metering

@Suite("What the process takes of the machine")
struct ProcessUsageTests {
  @Test("A line of /proc is read, whatever the program is called")
  func stat() throws {
    let line = "42 (a ) b (c) S 1 2 3 4 5 6 7 8 9 10 250 150 0 0 20 0 8 0 1000 104857600 2560 18446744073709551615 1\n"
    let usage = try #require(ProcessUsage(line, ticksPerSecond: 100, pageBytes: 4096))
    #expect(usage.cpuSeconds == 4)
    #expect(usage.startSeconds == 10)
    #expect(usage.virtualBytes == 104_857_600)
    #expect(usage.residentBytes == 10_485_760)
  }

  @Test("What is no such line is refused", arguments: ["", "42", "42 (a)", "42 (a) S 1 2 3", "42 (a) S x x x x"])
  func broken(_ line: String) {
    #expect(ProcessUsage(line, ticksPerSecond: 100, pageBytes: 4096) == nil)
  }

  @Test("The machine's start is found among the counters of the kernel")
  func bootTime() {
    #expect(ProcessUsage.bootTime(in: "cpu 1 2\nintr 5 6\nbtime 1700000000\nprocesses 7\n") == 1_700_000_000)
    #expect(ProcessUsage.bootTime(in: "cpu 1 2\nbtimes 3\n") == nil)
  }

  #if os(Linux)
    @Test("This process has memory, descriptors and a start that lies behind it")
    func now() {
      var found: [String: Double] = [:]
      for (name, _, value) in ProcessUsage.now() { found[name] = value }
      let described = MetricTable.all.map(\.name).filter { $0.hasPrefix("process_") }
      #expect(found.keys.sorted() == described.sorted())
      #expect(found.values.allSatisfy { $0 >= 0 })
      let (open, most) = (found["process_open_fds"] ?? 0, found["process_max_fds"] ?? 0)
      #expect(open >= 3 && open <= most)
      let resident = found["process_resident_memory_bytes"] ?? 0
      #expect(resident > 1_048_576 && resident < found["process_virtual_memory_bytes"] ?? 0)
      #expect(found["process_start_time_seconds"] ?? 0 > 1_600_000_000)
    }
  #endif
}
