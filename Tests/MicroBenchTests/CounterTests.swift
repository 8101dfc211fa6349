import Foundation
import TestSupport
import Testing

@testable import MicroBench

@Suite("The counter", .ownThread)
struct CounterTests {
  /// Three blocks of memory in each iteration, beside a thread that takes as many as it gets to.
  private static let source = """
    #include <pthread.h>
    #include <sched.h>
    #include <stdlib.h>

    static void *volatile sink;
    static volatile int begun;

    static void *bystander(void *unused) {
      for (;;) {
        sink = malloc(100);
        free(sink);
        begun = 1;
      }
      return unused;
    }

    int main(int count, char **words) {
      if (count != 6) return 64;
      pthread_t thread;
      if (pthread_create(&thread, 0, bystander, 0)) return 70;
      while (!begun) sched_yield();
      for (long i = 3 * atol(words[5]); i > 0; i -= 1) {
        void *block = malloc(64);
        sink = block;
        free(block);
      }
      _Exit(0);
    }
    """

  #if os(Linux)
    @Test("counts what the benchmark's thread does, and nothing that happens beside it")
    func bystander() async throws {
      let folder = try TestSupport.TemporaryFolder()
      let url = URL(fileURLWithPath: folder.path)
      let (source, program) = (url.appendingPathComponent("it.c"), url.appendingPathComponent("it"))
      try Self.source.write(to: source, atomically: true, encoding: .utf8)
      let compiler = Command(named: "clang", ["-O1", "-pthread", source.path, "-o", program.path])
      let compiled = try await compiler.run(deadline: .seconds(300))
      try #require(compiled.status == 0, "clang comes with Swift: \(compiled.output)")
      let counter = try Counter(program: program.path, words: ["micro"])
      let benchmark = MicroBenchmark(name: "bystander", about: "", iterations: 100) { { _ in } }
      for _ in 0..<2 { #expect(try counter.count(benchmark).allocations == 3) }
    }
  #endif
}
