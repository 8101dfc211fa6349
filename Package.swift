// swift-tools-version: 6.2
import PackageDescription

// CI sets FANFARE_STRICT=1, so that a warning in our own targets fails the build there and only there: a newer
// compiler on somebody's laptop must not keep them from trying Fanfare.
let strict = Context.environment["FANFARE_STRICT"] == "1"

// Mistakes that the simulation has to find can be switched on where the tests are: in debug, and in the optimised build that
// `make test` and CI make with FANFARE_TESTING=1. What ships has none of them.
let mutations: SwiftSetting =
  Context.environment["FANFARE_TESTING"] == "1"
  ? .define("MUTATIONS") : .define("MUTATIONS", .when(configuration: .debug))

let common: [SwiftSetting] =
  [.enableUpcomingFeature("ExistentialAny"), mutations] + (strict ? [.treatAllWarnings(as: .error)] : [])
let base: [SwiftSetting] = common + [.enableUpcomingFeature("MemberImportVisibility")]
let library: [SwiftSetting] = base + [.strictMemorySafety()]
// For what runs per message and per delivery. Debug builds alone check each access to a class's property for overlaps;
// those checks were an eighth of what the broker does for a publication (decision 0014).
let hot: [SwiftSetting] =
  library + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]
// Tests of optimised code are not optimised themselves: that takes longer than it saves, and what they hold has to live to
// the end of its scope. They also go without debug information there, which is a tenth to a quarter of what the compiler
// does for them: a failed test is told by its own line, and a build for debugging has all of it. It is the frontend that is
// told, because SwiftPM's own `-g` comes after a target's flags.
let tests: [SwiftSetting] =
  base + [
    .unsafeFlags(
      ["-Onone", "-Xfrontend", "-gnone", "-no-emit-module-separately-wmo"], .when(configuration: .release))
  ]

let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioConcurrency: Target.Dependency = .product(name: "NIOConcurrencyHelpers", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioWebSocket: Target.Dependency = .product(name: "NIOWebSocket", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")

// What faces a peer, and what it is fuzzed with.
let fuzzed: [Target.Dependency] = [
  "Admin", "Apps", "Auth", "Broker", "FanfareClient", "Gateway", "Log", "ObjectStore", "Push", "Settings",
  "TestSupport",
  "Wire", nioCore, nioEmbedded, nioHTTP1,
]

// Debian's files for libzmq and libcurl name folders that SwiftPM warns of in each build, and both libraries' headers and
// objects are where the compiler looks anyway; Homebrew's are not.
#if os(Linux)
  let zeroMQ: String? = nil
#else
  let zeroMQ: String? = "libzmq"
#endif

let package = Package(
  name: "fanfare",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "FanfareClient", targets: ["FanfareClient"]),
    .executable(name: "fanfare", targets: ["fanfare"]),
    .executable(name: "fanfare-bench", targets: ["fanfare-bench"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-collections.git", from: "1.6.0"),  // NIO's too.
    .package(url: "https://github.com/apple/swift-protobuf.git", from: "1.39.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
    // Of it only the HTTP server: what carries its own settings and routes is not built.
    .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0", traits: []),  // Hummingbird's too.
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift.git", from: "0.2.0"),
  ],
  targets: [
    // The C edge: system libraries and the few calls that Glibc's overlay lacks.
    .systemLibrary(
      name: "CZeroMQ", pkgConfig: zeroMQ,
      providers: [.apt(["libzmq3-dev"]), .brew(["zeromq"])]),
    .systemLibrary(
      name: "COpenSSL", pkgConfig: "openssl",
      providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .systemLibrary(
      name: "CPostgreSQL", pkgConfig: "libpq",
      providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
      name: "CZlib", pkgConfig: "zlib",
      providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    .target(name: "CLinuxIO"),

    // The libraries, in the order in which one may import another.
    .target(name: "ZeroMQ", dependencies: ["CZeroMQ"], swiftSettings: hot),
    // Digests, seals, signatures and randomness: the system's OpenSSL, and nothing else.
    .target(name: "Cryptography", dependencies: ["COpenSSL"], swiftSettings: library),
    .target(name: "TLS", dependencies: ["COpenSSL", "CLinuxIO", nioCore, logging], swiftSettings: hot),
    // What all parts count, as a page that Prometheus reads.
    .target(
      name: "Metering", dependencies: [.product(name: "CoreMetrics", package: "swift-metrics")],
      swiftSettings: library),
    // The one way in which the server calls others over HTTP, on the system's libcurl.
    .target(name: "HTTPClient", dependencies: ["CCurl", deque], swiftSettings: library),
    // S3-compatible stores, as far as pictures need them.
    .target(
      name: "ObjectStore", dependencies: ["Cryptography", "HTTPClient", metrics],
      // As Auth, for Glibc's time beside Dispatch.
      swiftSettings: common + [.strictMemorySafety()]),
    // A connection, its statements and its transactions, on the system's SQLite.
    .target(name: "SQLite", dependencies: ["CSQLite"], swiftSettings: hot),
    // The same, on the system's libpq.
    .target(name: "PostgreSQL", dependencies: ["CPostgreSQL"], swiftSettings: hot),
    // Generated: its code is not ours to make strict.
    .target(
      name: "ClientProtobuf",
      dependencies: [.product(name: "SwiftProtobuf", package: "swift-protobuf")],
      exclude: ["client.proto"]),
    .target(
      name: "Wire",
      dependencies: ["ClientProtobuf", deque, .product(name: "SwiftProtobuf", package: "swift-protobuf")],
      swiftSettings: hot),
    // What hops a publication has, how long they take, and spans of them for a collector.
    .target(
      name: "Telemetry",
      dependencies: ["Wire", metrics, .product(name: "CoreMetrics", package: "swift-metrics")], swiftSettings: library),
    .target(
      name: "Settings",
      dependencies: ["Wire"],
      swiftSettings: library),
    .target(
      name: "Auth",
      dependencies: ["Cryptography", "HTTPClient", "Wire", logging],
      // Optimised builds take `stat` for a part of CoreFoundation, which cannot be imported by itself (Swift 6.3).
      swiftSettings: common + [.strictMemorySafety()]),
    .target(
      name: "Log",
      dependencies: [
        "CLinuxIO", "PostgreSQL", "SQLite", "Wire", logging, metrics,
      ],
      swiftSettings: hot),
    // What can be found in the log by its words, in a file of its own.
    .target(
      name: "Search",
      dependencies: [
        "CLinuxIO", "Log", "SQLite", "Wire", logging,
      ],
      swiftSettings: library),
    // Which offsets of a channel reached whom: intervals in a file of their own, and what follows from them, pure.
    .target(
      name: "Coverage", dependencies: ["CLinuxIO", "Cryptography", "SQLite", "Wire", logging],
      // As Auth, for Foundation's Thread beside Glibc.
      swiftSettings: common + [.strictMemorySafety()]),
    // The rules of the two apps, pure.
    .target(
      name: "Apps", dependencies: ["Cryptography", "Wire"], swiftSettings: hot),
    // The keys of what is sealed, in files apart from the log, and the clock by which they are destroyed.
    .target(
      name: "Vault",
      dependencies: ["Apps", "Cryptography", "Wire", "CLinuxIO", logging],
      // As Auth, for `stat`.
      swiftSettings: common + [.strictMemorySafety()]),
    // The client for browsers, which gateways serve, and the pages of demo and console.
    .target(
      name: "Web", exclude: ["embed", "fanfare.js", "fanfare.d.ts", "package.json", "demo", "console"],
      swiftSettings: library),
    .target(
      name: "Broker",
      dependencies: [
        "Wire", "ZeroMQ", "Log", "Apps", "Coverage", "Cryptography", "Telemetry", deque, logging, metrics,
      ],
      swiftSettings: hot),
    .target(
      name: "Gateway",
      dependencies: [
        "Wire", "ZeroMQ", "Auth", "Cryptography", "TLS", "HTTPClient", "ObjectStore", "CLinuxIO", "CZlib", "Telemetry",
        "Web", deque, nioCore,
        nioConcurrency, nioPosix, nioHTTP1, logging, metrics,
      ],
      swiftSettings: hot),
    // Posts what the broker's outboxes hold to webhooks' receivers.
    .target(
      name: "Webhooks", dependencies: ["Broker", "Cryptography", "HTTPClient", "Wire"], swiftSettings: library),
    // Brings notifications to devices, by browsers' push services, APNs and FCM. It knows no users and no channels.
    .target(name: "Push", dependencies: ["Cryptography", "HTTPClient", "Wire", metrics], swiftSettings: library),
    // What the terminal views and the web console show, pure but for the terminal itself.
    .target(name: "Console", dependencies: ["Wire"], swiftSettings: library),
    // Processes that are started again whenever they end, and end with whoever started them.
    .target(
      name: "Supervision", dependencies: ["CLinuxIO"],
      // As Auth, for Foundation's Thread beside Glibc.
      swiftSettings: common + [.strictMemorySafety()]),
    // The port for backends and operators: the server API, metrics, health.
    .target(
      name: "Admin",
      dependencies: [
        "Auth", "Broker", "Console", "Cryptography", "Web", "Wire", nioCore, nioPosix, logging, metrics,
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: library),
    // The client for apps in Swift, a product of its own: on Linux over NIO with our TLS, on Apple's over URLSession.
    .target(
      name: "FanfareClient",
      dependencies: [
        "Wire", "ClientProtobuf", .target(name: "TLS", condition: .when(platforms: [.linux])),
        .product(name: "SwiftProtobuf", package: "swift-protobuf"), nioCore, nioPosix, nioHTTP1, nioWebSocket,
      ],
      swiftSettings: library),
    .executableTarget(
      name: "fanfare",
      dependencies: [
        "Wire", "ZeroMQ", "Settings", "Auth", "Log", "Search", "Apps", "Vault", "Broker", "Gateway", "Admin",
        "FanfareClient", "Webhooks", "Push", "Cryptography", "TLS", "CLinuxIO", "Metering", "Telemetry", "Console",
        "Coverage", "HTTPClient", "ObjectStore", "Supervision", nioCore, logging,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
      ],
      swiftSettings: library),

    // The load generator. It shares no code with the server but the C edge: what it measures must not measure itself.
    .target(
      name: "Bench",
      dependencies: [
        "COpenSSL", "CLinuxIO", "CZlib", "ZeroMQ", .product(name: "Histogram", package: "hdrhistogram-swift"),
      ],
      swiftSettings: hot),
    // The counted micro-benchmarks, on the server's own modules.
    .target(
      name: "MicroBench",
      dependencies: ["Apps", "Wire", "Log", "Broker", "Gateway", "Telemetry", "ZeroMQ", "CLinuxIO"],
      swiftSettings: hot),
    .executableTarget(
      name: "fanfare-bench",
      dependencies: [
        "Bench", "MicroBench", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: library),

    .testTarget(name: "SQLiteTests", dependencies: ["SQLite", "TestSupport"], swiftSettings: tests),
    .testTarget(name: "PostgreSQLTests", dependencies: ["PostgreSQL", "TestSupport"], swiftSettings: tests),
    .testTarget(name: "HTTPClientTests", dependencies: ["HTTPClient", "TestSupport"], swiftSettings: tests),
    .testTarget(
      name: "ObjectStoreTests", dependencies: ["ObjectStore", "Cryptography", "TestSupport"], swiftSettings: tests),
    .testTarget(name: "SupervisionTests", dependencies: ["Supervision", "TestSupport"], swiftSettings: tests),
    .testTarget(name: "ConsoleTests", dependencies: ["Console", "Wire"], swiftSettings: tests),
    .testTarget(name: "CryptographyTests", dependencies: ["Cryptography"], swiftSettings: tests),
    .testTarget(
      name: "MeteringTests",
      dependencies: ["Metering", "TestSupport", .product(name: "CoreMetrics", package: "swift-metrics")],
      swiftSettings: tests),
    .testTarget(
      name: "TelemetryTests", dependencies: ["Telemetry", "Metering", "Wire", "TestSupport"], swiftSettings: tests),
    .testTarget(name: "ZeroMQTests", dependencies: ["ZeroMQ", "TestSupport"], swiftSettings: tests),
    .testTarget(
      name: "TLSTests", dependencies: ["TLS", "COpenSSL", "TestSupport", nioPosix, nioEmbedded, logging],
      swiftSettings: tests),
    .testTarget(
      name: "WireTests",
      dependencies: [
        "Wire", "ClientProtobuf", "TestSupport", .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ],
      swiftSettings: tests),
    .testTarget(name: "SettingsTests", dependencies: ["Settings", "Wire"], swiftSettings: tests),
    .testTarget(
      name: "AuthTests", dependencies: ["Auth", "Cryptography", "Wire", "TestSupport", logging],
      swiftSettings: tests),
    .testTarget(
      name: "LogTests",
      dependencies: [
        "Log", "Metering", "Vault", "Wire", "TestSupport", logging, "PostgreSQL", "SQLite",
        .product(name: "CoreMetrics", package: "swift-metrics"),
      ],
      swiftSettings: tests),
    .testTarget(
      name: "SearchTests",
      dependencies: ["Search", "Log", "Wire", "TestSupport", logging, "SQLite"],
      swiftSettings: tests),
    .testTarget(
      name: "CoverageTests", dependencies: ["Coverage", "Cryptography", "SQLite", "Wire", "TestSupport", logging],
      swiftSettings: tests),
    .testTarget(name: "AppsTests", dependencies: ["Apps", "Wire", "TestSupport"], swiftSettings: tests),
    .testTarget(name: "VaultTests", dependencies: ["Vault", "Apps", "TestSupport", logging], swiftSettings: tests),
    .testTarget(
      name: "BrokerTests",
      dependencies: [
        "Apps", "Broker", "Log", "Metering", "Telemetry", "Wire", "ZeroMQ", "TestSupport", logging,
      ],
      swiftSettings: tests),
    .testTarget(
      name: "WebhooksTests",
      dependencies: ["Webhooks", "Broker", "Cryptography", "Log", "Wire", "TestSupport", logging], swiftSettings: tests),
    .testTarget(
      name: "PushTests", dependencies: ["Push", "Cryptography", "HTTPClient", "Wire", "TestSupport"],
      swiftSettings: tests),
    .testTarget(
      name: "GatewayTests",
      dependencies: [
        "Gateway", "Metering", "Telemetry", "Wire", "Auth", "Cryptography", "TLS", "HTTPClient", "ObjectStore", "Web",
        "TestSupport",
        "COpenSSL", "CZlib",
        nioEmbedded, nioPosix, nioHTTP1, logging,
      ],
      swiftSettings: tests),
    .testTarget(
      name: "AdminTests",
      dependencies: [
        "Admin", "Auth", "Broker", "Cryptography", "Web", "Wire", "TestSupport", logging,
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: tests),
    // Runs the JavaScript tests with node, and scenarios of them against a server.
    .testTarget(
      name: "WebTests", dependencies: ["Web", "Cryptography", "TestSupport", "fanfare"], exclude: ["javascript"],
      swiftSettings: tests),
    .testTarget(
      name: "FanfareClientTests",
      dependencies: ["FanfareClient", "Wire", "TestSupport", nioCore, nioPosix, nioHTTP1, nioWebSocket],
      swiftSettings: tests),
    .testTarget(
      name: "BenchTests", dependencies: ["Bench", "TestSupport", "fanfare", "fanfare-bench"], swiftSettings: tests),
    .testTarget(name: "MicroBenchTests", dependencies: ["MicroBench", "TestSupport"], swiftSettings: tests),
    .testTarget(
      name: "SimulationTests",
      dependencies: [
        "Apps", "Auth", "Broker", "Coverage", "FanfareClient", "Gateway", "Log", "Telemetry", "Wire", "ZeroMQ",
        "TestSupport",
        "CFaultyVFS",
        "ClientProtobuf", logging, nioCore, nioEmbedded,
      ],
      swiftSettings: tests),
    // A disk for SQLite that fails when it is told to.
    .target(name: "CFaultyVFS", path: "Tests/CFaultyVFS", linkerSettings: [.linkedLibrary("sqlite3")]),
    .target(
      name: "TestSupport",
      dependencies: ["Apps", "Broker", "Cryptography", "Gateway", "Log", "Push", "Wire", logging],
      path: "Tests/TestSupport", swiftSettings: tests),
    // The tutorial's chat, word for word: a test compares the two, another runs two of it.
    .executableTarget(
      name: "FiftyLineChat", dependencies: ["FanfareClient"], path: "Tests/FiftyLineChat", swiftSettings: common),
    // Both start the server that was built beside them.
    .testTarget(
      name: "IntegrationTests",
      dependencies: [
        "FanfareClient", "FiftyLineChat", "Apps", "Wire", "ZeroMQ", "Auth", "Log", "PostgreSQL", "TestSupport",
        "COpenSSL", "CLinuxIO", "Cryptography", "ObjectStore", "fanfare",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: tests),
    .testTarget(
      name: "ConformanceTests", dependencies: ["TestSupport", "Auth", "Push", "Cryptography", "fanfare"],
      exclude: ["python"], swiftSettings: tests),
    .testTarget(
      name: "BrowserTests", dependencies: ["TestSupport", "fanfare"], exclude: ["browser"], swiftSettings: tests),
    // What `make fuzz` hands to libFuzzer, replayed; the same sources are `fanfare-fuzz` below.
    .testTarget(
      name: "FuzzTests", dependencies: fuzzed, exclude: ["Corpus", "Program"], swiftSettings: tests),
    .testTarget(name: "TidyTests", dependencies: [], swiftSettings: tests),
  ]
)

// `.ci/fuzz` sets FANFARE_FUZZING=1: our own modules then count what is covered, as libFuzzer wants it, and there is a program
// that links it; or FANFARE_FUZZING=address, and they find reading beyond memory, too. Nothing else can be linked of such a
// build, and no other build knows of this.
if let fuzzing = Context.environment["FANFARE_FUZZING"] {
  let isWithAddresses = fuzzing == "address"
  package.targets.removeAll { $0.isTest }
  for target in package.targets where target.type == .regular {
    if target.name == "TestSupport" {
      // What needs no tests around it.
      target.sources = [
        "Configurations.swift", "FossilDecoder.swift", "PictureSamples.swift", "SeededGenerator.swift",
      ]
      target.swiftSettings = base
    }
    target.swiftSettings =
      (target.swiftSettings ?? []) + [.unsafeFlags(["-sanitize=\(isWithAddresses ? "fuzzer,address" : "fuzzer")"])]
  }
  package.targets += [
    .target(name: "CFuzzCounters", path: "Tests/CFuzzCounters"),
    .executableTarget(
      name: "fanfare-fuzz", dependencies: fuzzed + ["CFuzzCounters"], path: "Tests/FuzzTests",
      exclude: ["Corpus", "Replay"], swiftSettings: base,
      linkerSettings: isWithAddresses ? [.unsafeFlags(["-sanitize=address"])] : []),
  ]
}
