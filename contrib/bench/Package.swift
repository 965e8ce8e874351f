// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.strictMemorySafety(), .treatAllWarnings(as: .error), .swiftLanguageMode(.v6)]

/// What a benchmark has to measure within a Swift process, and its peers there. A package of its own: nobody who uses netwatch
/// builds it.
let package = Package(
  name: "netwatch-bench",
  products: [
    .executable(name: "bench-activity", targets: ["bench-activity"]),
    .executable(name: "bench-http", targets: ["bench-http"]),
    .executable(name: "bench-async-http-client", targets: ["bench-async-http-client"]),
    .executable(name: "bench-urlsession", targets: ["bench-urlsession"]),
  ],
  dependencies: [
    .package(name: "netwatch", path: "../.."),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.5.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
  ],
  targets: [
    .target(name: "AllocationCount"),
    .executableTarget(
      name: "bench-activity",
      dependencies: ["AllocationCount", .product(name: "Netwatch", package: "netwatch")],
      path: "Sources/BenchActivity", swiftSettings: settings),
    .target(name: "BenchSupport", swiftSettings: settings),
    .executableTarget(
      name: "bench-http",
      dependencies: [
        "BenchSupport", .product(name: "NetwatchHTTP", package: "netwatch"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      path: "Sources/BenchHTTP", swiftSettings: settings),
    .executableTarget(
      name: "bench-async-http-client",
      dependencies: [
        "BenchSupport", .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
      ],
      path: "Sources/BenchAsyncHTTPClient", swiftSettings: settings),
    .executableTarget(
      name: "bench-urlsession", dependencies: ["BenchSupport"], path: "Sources/BenchURLSession",
      swiftSettings: settings),
  ]
)
