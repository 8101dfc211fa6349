import Testing
@testable import Bench
