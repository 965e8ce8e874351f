// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.strictMemorySafety(), .treatAllWarnings(as: .error), .swiftLanguageMode(.v6)]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: settings)
}

let package = Package(
  name: "netwatch",
  products: [
    .library(name: "Netwatch", targets: ["Netwatch"]),
    .library(name: "NetwatchNetlink", targets: ["NetwatchNetlink"]),
    .library(name: "NetwatchStream", targets: ["NetwatchStream"]),
    .library(name: "NetwatchLines", targets: ["NetwatchLines"]),
    .library(name: "NetwatchHTTP", targets: ["NetwatchHTTP"]),
    .library(name: "NetwatchHTTPFoundation", targets: ["NetwatchHTTPFoundation"]),
    .executable(name: "netwatch", targets: ["NetwatchCommand"]),
    .executable(name: "netwatch-http", targets: ["NetwatchHTTPCommand"]),
    .executable(name: "netwatch-log", targets: ["NetwatchLogCommand"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-http-types", from: "1.5.0")
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
    .systemLibrary(name: "CLibZ", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

    module("Netwatch"),
    module("NetwatchEventLoop", ["Netwatch", "CLinux"]),
    // The wire of netlink, and the kernel's answers about links and routes, for monitors and for HTTP.
    module("NetlinkWire", ["Netwatch", "NetwatchEventLoop", "CLibNetlink"]),
    module(
      "NetwatchNetlink",
      [
        "Netwatch", "NetwatchEventLoop", "NetwatchResolver", "NetlinkWire", "CLibNetlink", "CLibNetlinkRoute", "CLinux",
      ]),
    // What resolvers and HTTP need of libidn2.
    module("NetwatchIDNA", ["CLibIDN2"]),
    module("NetwatchResolver", ["Netwatch", "NetwatchEventLoop", "NetwatchIDNA", "CLinux", "CLibCAres"]),
    module("NetwatchStream", ["Netwatch", "NetwatchEventLoop"]),
    // The table of options: how they are read, and what helps, completions and manual pages say of them.
    module("NetwatchOptions", ["Netwatch", "NetwatchEventLoop"]),
    module(
      "NetwatchHTTP",
      [
        "Netwatch", "NetwatchEventLoop", "NetwatchIDNA", "NetlinkWire", "CLibCurl", "CLibNetlink", "CLibOpenSSL",
        "CLibPSL", "CLibZ", "CLinux", "CLinuxLink",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ]),
    // What needs all of Foundation, which is large: FoundationEssentials is enough for the rest.
    module(
      "NetwatchHTTPFoundation",
      ["Netwatch", "NetwatchHTTP", .product(name: "HTTPTypes", package: "swift-http-types")]),
    // Where lines come from, for the command and for libnetwatch.
    module(
      "NetwatchLines",
      ["Netwatch", "NetwatchEventLoop", "NetwatchNetlink", "NetwatchOptions", "NetwatchResolver", "NetwatchStream"]),
    module(
      "NetwatchCLI",
      [
        "Netwatch", "NetwatchEventLoop", "NetwatchLines", "NetwatchNetlink", "NetwatchOptions", "NetwatchResolver",
        "NetwatchStream",
      ]),
    .executableTarget(
      name: "NetwatchCommand", dependencies: ["NetwatchCLI", "NetwatchEventLoop"], swiftSettings: settings),
    // Apart, because libcurl cannot be linked into the static binary, and --follow shall not map it.
    .executableTarget(
      name: "NetwatchHTTPCommand",
      dependencies: [
        "Netwatch", "NetwatchEventLoop", "NetwatchHTTP", "NetwatchOptions", "NetwatchStream", "CLibCurl", "CLinux",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),

    // NetwatchLog also has the parts of the log that do not need SQLite, because no other module reads or writes the log.
    module("NetwatchLog", ["Netwatch", "NetwatchEventLoop", "NetwatchStream", "CLibSQLite", "CLinux"]),
    // Apart, because --follow shall not map SQLite.
    .executableTarget(
      name: "NetwatchLogCommand",
      dependencies: ["Netwatch", "NetwatchEventLoop", "NetwatchLog", "NetwatchOptions"],
      swiftSettings: settings),

    .target(
      name: "NetwatchTestSupport", dependencies: ["Netwatch", "NetwatchEventLoop"], path: "Tests/NetwatchTestSupport",
      swiftSettings: settings),
    tests("NetwatchTests", ["Netwatch", "NetwatchTestSupport"]),
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
      ["NetwatchCLI", "Netwatch", "NetwatchEventLoop", "NetwatchOptions", "NetwatchStream", "NetwatchTestSupport"],
      exclude: ["Golden"]),
    tests(
      "NetwatchHTTPCommandTests", ["NetwatchHTTPCommand", "NetwatchHTTP"]),
    tests(
      "NetwatchLogTests",
      ["NetwatchLog", "CLibSQLite", "Netwatch", "NetwatchEventLoop", "NetwatchStream", "NetwatchTestSupport"]),
    .systemLibrary(name: "CSeccomp", path: "Tests/CSeccomp"),
    tests(
      "NetwatchHTTPTests",
      [
        "CLibZ", "CLinux", "CSeccomp", "NetwatchHTTP", "NetwatchHTTPFoundation", "Netwatch", "NetwatchEventLoop",
        "NetwatchTestSupport", "HTTPProbe",
      ]),
    // The command in namespaces of the tests' own making, and the programs that are run in them.
    tests(
      "IntegrationTests",
      [
        "CLinux", "DocumentationExamples", "HTTPProbe", "NetwatchCommand", "NetwatchHTTPCommand",
        "NetwatchLogCommand", "NetwatchProbe",
        "NetwatchTestSupport", "ReadmeExample", "TestSandbox",
      ],
      exclude: ["Golden"]),
    .executableTarget(name: "TestSandbox", path: "Tests/TestSandbox"),
    .executableTarget(
      name: "NetwatchProbe",
      dependencies: ["CLibNetlink", "Netwatch", "NetwatchEventLoop", "NetwatchNetlink", "NetwatchStream", "CLinux"],
      path: "Tests/NetwatchProbe", swiftSettings: settings),
    // Apart, so that the virtual machine of contrib/verify guest needs no libcurl.
    .executableTarget(
      name: "HTTPProbe",
      dependencies: [
        "CLibOpenSSL", "Netwatch", "NetwatchHTTP", "NetwatchNetlink", "NetwatchStream",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      path: "Tests/HTTPProbe", swiftSettings: settings),
    // The code of the articles and the README, so that it compiles.
    .target(
      name: "DocumentationExamples",
      dependencies: [
        "Netwatch", "NetwatchLines", "NetwatchNetlink", "NetwatchStream", "NetwatchHTTP", "NetwatchHTTPFoundation",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      path: "Tests/DocumentationExamples", swiftSettings: settings),
    .executableTarget(
      name: "ReadmeExample", dependencies: ["Netwatch", "NetwatchNetlink"], path: "Tests/ReadmeExample",
      swiftSettings: settings),
  ]
)
