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
    func bystander() throws {
      let folder = try TemporaryFolder()
      let program = folder.url.appendingPathComponent("bystander")
      let compiler = Process()
      compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      compiler.arguments = ["clang", "-O1", "-pthread", "-x", "c", "-", "-o", program.path]
      let input = Pipe()
      compiler.standardInput = input
      try compiler.run()
      input.fileHandleForWriting.write(Data(Self.source.utf8))
      try input.fileHandleForWriting.close()
      compiler.waitUntilExit()
      try #require(compiler.terminationStatus == 0, "clang comes with Swift")
      let counter = try Counter(program: program.path, words: ["micro"])
      let benchmark = MicroBenchmark(name: "bystander", about: "", iterations: 100) { { _ in } }
      for _ in 0..<2 { #expect(try counter.count(benchmark).allocations == 3) }
    }
  #endif
}
