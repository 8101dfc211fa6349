import CLinuxIO
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Memory that is free goes back to the system", .ownThread)
struct MemoryReturnTests {
  @Test("what lies free between blocks that are in use is given back")
  func givesBack() {
    // One block of each 64 stays, so that the allocator cannot cut its end off by itself.
    let size = 1000
    var blocks: [UnsafeMutableRawPointer] = []
    for _ in 0..<300_000 {
      guard let block = malloc(size) else { break }
      memset(block, 1, size)
      blocks.append(block)
    }
    #expect(blocks.count == 300_000)
    for (index, block) in blocks.enumerated() where index % 64 != 0 { free(block) }
    let before = linuxio_resident_bytes()
    #expect(before - linuxio_heap().used > 200 << 20, "it is free, and stands in memory")
    linuxio_give_back_memory()
    #expect(before - linuxio_resident_bytes() > 150 << 20)
    for (index, block) in blocks.enumerated() where index % 64 == 0 { free(block) }
  }

  @Test("what the allocator has handed out and what it holds for that stand among the metrics, of broker and gateway")
  func metrics() async throws {
    try await Deployment.with(.ipc) { deployment in
      for process in [deployment.broker, deployment.gateway("a")] {
        #expect(try await eventually { try MetricPage(of: process)["fanfare_heap_used_bytes"] != nil })
        let page = try MetricPage(of: process)
        let used = try #require(page["fanfare_heap_used_bytes"])
        let held = try #require(page["fanfare_heap_bytes"])
        let resident = try #require(page["process_resident_memory_bytes"])
        #expect(used > 100_000 && used <= held && used < resident, "\(used) of \(held), and \(resident) in RAM")
      }
    }
  }
}
