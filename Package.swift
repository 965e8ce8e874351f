// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.strictMemorySafety(), .treatAllWarnings(as: .error), .swiftLanguageMode(.v6)]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: settings)
}

/// A product that only a trait of the same name needs.
func optional(_ product: String, _ package: String, for trait: String? = nil) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(traits: [trait ?? product]))
}

let package = Package(
  name: "netwatch",
  products: [
    .library(name: "Netwatch", targets: ["Netwatch"]),
    .library(name: "NetwatchNetlink", targets: ["NetwatchNetlink"]),
    .library(name: "NetwatchObservation", targets: ["NetwatchObservation"]),
    .library(name: "NetwatchStream", targets: ["NetwatchStream"]),
    .library(name: "NetwatchLines", targets: ["NetwatchLines"]),
    .library(name: "NetwatchLog", targets: ["NetwatchLog"]),
    .library(name: "NetwatchHTTP", targets: ["NetwatchHTTP"]),
    .library(name: "NetwatchHTTPFoundation", targets: ["NetwatchHTTPFoundation"]),
    .library(name: "NetwatchPortal", targets: ["NetwatchPortal"]),
    .library(name: "NetwatchAsyncHTTPClient", targets: ["NetwatchAsyncHTTPClient"]),
    .executable(name: "netwatch", targets: ["NetwatchCommand"]),
    .executable(name: "netwatch-http", targets: ["NetwatchHTTPCommand"]),
    .executable(name: "netwatch-log", targets: ["NetwatchLogCommand"]),
    .executable(name: "netwatch-mqtt", targets: ["NetwatchMQTTCommand"]),
  ],
  traits: [
    .trait(name: "Hostnames", description: "A monitor's target may be a host name; needs c-ares and libidn2."),
    .trait(name: "Logging", description: "HTTPLogObserver writes lines about requests with swift-log."),
    .trait(name: "Metrics", description: "HTTPMetricsObserver counts and times requests with swift-metrics."),
    .trait(name: "Tracing", description: "HTTPTracer makes spans of requests with swift-distributed-tracing."),
    .trait(name: "ServiceLifecycle", description: "NetworkMonitor is a Service of swift-service-lifecycle."),
    .trait(
      name: "AsyncHTTPClient",
      description: "Requests of AsyncHTTPClient wait for the path of a monitor, and fail when it is lost."),
    .default(enabledTraits: ["Hostnames"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-http-types", from: "1.5.0"),
    // Only resolved with the traits that need them.
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.2.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.24.0"),
  ],
  targets: [
    // C: headers, with a few inline functions for calls that Swift cannot make.
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CLinuxLink"),
    .systemLibrary(name: "CLibNetlink", pkgConfig: "libnl-3.0", providers: [.apt(["libnl-3-dev"])]),
    .systemLibrary(
      name: "CLibNetlinkRoute", pkgConfig: "libnl-route-3.0", providers: [.apt(["libnl-route-3-dev"])]),
    .systemLibrary(name: "CLibCAres", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),
    .systemLibrary(name: "CLibIDN2", pkgConfig: "libidn2", providers: [.apt(["libidn2-dev"])]),
    .systemLibrary(name: "CLibPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
    .systemLibrary(name: "CLibCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CLibOpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CLibSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CLibMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
    .systemLibrary(name: "CLibZ", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

    // The C library of the system, by whichever name.
    module("NetwatchLibC"),
    module("Netwatch", ["NetwatchLibC", optional("ServiceLifecycle", "swift-service-lifecycle")]),
    // Apart, because programs without a user interface do not load the library of observation.
    module("NetwatchObservation", ["Netwatch"]),
    module("NetwatchEventLoop", ["NetwatchLibC", "Netwatch", "CLinux"]),
    // The wire of netlink, and the kernel's answers about links and routes, for monitors and for HTTP.
    module("NetlinkWire", ["NetwatchLibC", "Netwatch", "NetwatchEventLoop", "CLibNetlink"]),
    module(
      "NetwatchNetlink",
      [
        "NetwatchLibC", "Netwatch", "NetwatchEventLoop", "NetlinkWire", "CLibNetlink", "CLibNetlinkRoute", "CLinux",
        .target(name: "NetwatchResolver", condition: .when(traits: ["Hostnames"])),
      ]),
    // What resolvers and HTTP need of libidn2.
    module("NetwatchIDNA", ["CLibIDN2"]),
    module(
      "NetwatchResolver", ["NetwatchLibC", "Netwatch", "NetwatchEventLoop", "NetwatchIDNA", "CLinux", "CLibCAres"]),
    module("NetwatchStream", ["NetwatchLibC", "Netwatch", "NetwatchEventLoop"]),
    // The table of options: how they are read, and what helps, completions and manual pages say of them.
    module("NetwatchOptions", ["NetwatchLibC", "Netwatch", "NetwatchEventLoop"]),
    module(
      "NetwatchHTTP",
      [
        "NetwatchLibC", "Netwatch", "NetwatchEventLoop", "NetwatchIDNA", "NetlinkWire", "CLibCurl", "CLibNetlink",
        "CLibOpenSSL", "CLibPSL", "CLibZ", "CLinux", "CLinuxLink",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        optional("Logging", "swift-log"), optional("Metrics", "swift-metrics"),
        optional("Tracing", "swift-distributed-tracing"),
      ]),
    // What needs all of Foundation, which is large: FoundationEssentials is enough for the rest.
    module(
      "NetwatchHTTPFoundation",
      ["Netwatch", "NetwatchHTTP", .product(name: "HTTPTypes", package: "swift-http-types")]),
    // Apart, because users of NetwatchHTTP do not want c-ares.
    module(
      "NetwatchPortal",
      [
        "NetwatchLibC", "Netwatch", "NetwatchEventLoop", "NetwatchHTTP", "NetwatchResolver",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ]),
    // Apart, because its users do not want libcurl.
    module("NetwatchAsyncHTTPClient", ["Netwatch", optional("AsyncHTTPClient", "async-http-client")]),
    // Where lines come from, for the command and for libnetwatch.
    module(
      "NetwatchLines",
      [
        "NetwatchLibC", "Netwatch", "NetwatchEventLoop", "NetwatchNetlink", "NetwatchOptions", "NetwatchResolver",
        "NetwatchStream",
      ]),
    module(
      "NetwatchCLI",
      [
        "NetwatchLibC", "Netwatch", "NetwatchEventLoop", "NetwatchLines", "NetwatchNetlink", "NetwatchOptions",
        "NetwatchResolver", "NetwatchStream",
      ]),
    .executableTarget(
      name: "NetwatchCommand", dependencies: ["NetwatchCLI", "NetwatchEventLoop"], swiftSettings: settings),
    // Apart, because libcurl cannot be linked into the static binary, and --follow shall not map it.
    .executableTarget(
      name: "NetwatchHTTPCommand",
      dependencies: [
        "NetwatchLibC", "Netwatch", "NetwatchEventLoop", "NetwatchHTTP", "NetwatchNetlink", "NetwatchOptions",
        "NetwatchPortal",
        "NetwatchStream", "CLibCurl", "CLinux",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),

    // NetwatchLog also has the parts of the log that do not need SQLite, because no other module reads or writes the log.
    module("NetwatchLog", ["NetwatchLibC", "Netwatch", "NetwatchEventLoop", "NetwatchStream", "CLibSQLite", "CLinux"]),
    // Apart, because --follow shall not map SQLite.
    .executableTarget(
      name: "NetwatchLogCommand",
      dependencies: ["NetwatchLibC", "Netwatch", "NetwatchEventLoop", "NetwatchLog", "NetwatchOptions"],
      swiftSettings: settings),

    // Many machines: what a machine tells, and what is known of all of them.
    module("NetwatchFleet", ["NetwatchLibC", "Netwatch", "NetwatchEventLoop", "NetwatchStream"]),
    module("NetwatchMQTT", ["NetwatchLibC", "Netwatch", "NetwatchEventLoop", "CLibMosquitto"]),
    // Apart, because --follow shall not map libmosquitto.
    .executableTarget(
      name: "NetwatchMQTTCommand",
      dependencies: [
        "NetwatchLibC", "Netwatch", "NetwatchEventLoop", "NetwatchFleet", "NetwatchMQTT", "NetwatchOptions",
        "NetwatchStream",
      ],
      swiftSettings: settings),

    .target(
      name: "NetwatchTestSupport", dependencies: ["Netwatch", "NetwatchEventLoop"], path: "Tests/NetwatchTestSupport",
      swiftSettings: settings),
    tests("NetwatchTests", ["Netwatch", "NetwatchObservation", "NetwatchTestSupport"]),
    tests("NetwatchOptionsTests", ["NetwatchOptions", "Netwatch", "NetwatchTestSupport"]),
    tests("NetwatchEventLoopTests", ["NetwatchEventLoop", "Netwatch", "NetwatchTestSupport"]),
    tests(
      "NetwatchNetlinkTests",
      [
        "CLibNetlink", "CLibNetlinkRoute", "NetlinkWire", "NetwatchNetlink", "Netwatch", "NetwatchEventLoop",
        "NetwatchProbe", "NetwatchTestSupport",
      ]),
    tests(
      "NetwatchResolverTests",
      ["CLibCAres", "NetwatchResolver", "Netwatch", "NetwatchEventLoop", "NetwatchTestSupport"]),
    tests(
      "NetwatchStreamTests",
      ["NetwatchStream", "NetwatchLines", "Netwatch", "NetwatchEventLoop", "NetwatchTestSupport"]),
    tests(
      "NetwatchLinesTests",
      [
        "NetwatchLines", "NetwatchOptions", "Netwatch", "NetwatchEventLoop", "NetwatchNetlink", "NetwatchStream",
        "NetwatchTestSupport",
      ]),
    tests(
      "NetwatchCLITests",
      [
        "NetwatchCLI", "Netwatch", "NetwatchEventLoop", "NetwatchLines", "NetwatchOptions", "NetwatchStream",
        "NetwatchTestSupport",
      ],
      exclude: ["Golden"]),
    tests(
      "NetwatchHTTPCommandTests", ["NetwatchHTTPCommand", "NetwatchHTTP"]),
    tests(
      "NetwatchLogTests",
      ["NetwatchLog", "CLibSQLite", "Netwatch", "NetwatchEventLoop", "NetwatchStream", "NetwatchTestSupport"]),
    tests(
      "NetwatchFleetTests",
      ["NetwatchFleet", "NetwatchMQTT", "Netwatch", "NetwatchEventLoop", "NetwatchTestSupport"]),
    .systemLibrary(name: "CSeccomp", path: "Tests/CSeccomp"),
    tests(
      "NetwatchHTTPTests",
      [
        "CLibZ", "CLinux", "CSeccomp", "NetwatchHTTP", "NetwatchHTTPFoundation", "Netwatch", "NetwatchEventLoop",
        "NetwatchTestSupport", "HTTPProbe", "NetwatchHTTPCommand",
      ]),
    // The command in namespaces of the tests' own making, and the programs that are run in them.
    tests(
      "IntegrationTests",
      [
        "CLinux", "DocumentationExamples", "HTTPProbe", "NetwatchCommand", "NetwatchHTTPCommand",
        "NetwatchLogCommand", "NetwatchMQTTCommand", "NetwatchProbe",
        "NetwatchTestSupport", "ReadmeExample", "ReadmeHTTPExample", "TestSandbox",
      ],
      exclude: ["Golden"]),
    // What the traits add; contrib/verify traits runs them with all traits.
    tests(
      "TraitTests",
      [
        "Netwatch", "NetwatchHTTP", "NetwatchTestSupport",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        optional("InMemoryLogging", "swift-log", for: "Logging"),
        optional("MetricsTestKit", "swift-metrics", for: "Metrics"),
        optional("InMemoryTracing", "swift-distributed-tracing", for: "Tracing"),
        optional("Logging", "swift-log", for: "ServiceLifecycle"),
      ]),
    .executableTarget(
      name: "TraitProbe", dependencies: ["Netwatch", "NetwatchAsyncHTTPClient", "NetwatchNetlink"],
      path: "Tests/TraitProbe", swiftSettings: settings),
    .executableTarget(name: "TestSandbox", path: "Tests/TestSandbox"),
    .executableTarget(
      name: "NetwatchProbe",
      dependencies: ["CLibNetlink", "Netwatch", "NetwatchEventLoop", "NetwatchNetlink", "NetwatchStream", "CLinux"],
      path: "Tests/NetwatchProbe", swiftSettings: settings),
    // Apart, so that the virtual machine of contrib/verify guest needs no libcurl.
    .executableTarget(
      name: "HTTPProbe",
      dependencies: [
        "CLibOpenSSL", "Netwatch", "NetwatchHTTP", "NetwatchNetlink", "NetwatchPortal", "NetwatchStream",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      path: "Tests/HTTPProbe", swiftSettings: settings),
    // The code of the articles, so that it compiles.
    .target(
      name: "DocumentationExamples",
      dependencies: [
        "Netwatch", "NetwatchLines", "NetwatchLog", "NetwatchNetlink", "NetwatchObservation", "NetwatchStream",
        "NetwatchHTTP", "NetwatchHTTPFoundation",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      path: "Tests/DocumentationExamples", swiftSettings: settings),
    // The programs of the README; the first one is also that of the tutorial.
    .executableTarget(
      name: "ReadmeExample", dependencies: ["Netwatch", "NetwatchNetlink"], path: "Tests/ReadmeExample",
      swiftSettings: settings),
    .executableTarget(
      name: "ReadmeHTTPExample", dependencies: ["Netwatch", "NetwatchHTTP", "NetwatchNetlink"],
      path: "Tests/ReadmeHTTPExample", swiftSettings: settings),
  ]
)
