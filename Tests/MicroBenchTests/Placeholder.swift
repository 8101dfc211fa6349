import Testing
@testable import MicroBench
