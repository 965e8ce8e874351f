// swift-tools-version: 6.2
import PackageDescription

let http = Target.Dependency.product(name: "NetwatchHTTP", package: "netwatch")
let netwatch = Target.Dependency.product(name: "Netwatch", package: "netwatch")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")

let package = Package(
  name: "NetwatchObservability",
  dependencies: [
    // In your own manifest, write .package(url: …) here.
    .package(name: "netwatch", path: "../../.."),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
  ],
  targets: [
    .target(name: "HTTPLogging", dependencies: [http, logging]),
    .target(name: "HTTPMeasuring", dependencies: [http, metrics]),
    .target(name: "HTTPTracing", dependencies: [http, netwatch, tracing]),
    .testTarget(
      name: "ObservabilityTests",
      dependencies: [
        "HTTPLogging", "HTTPMeasuring", "HTTPTracing",
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
      ]),
  ]
)
