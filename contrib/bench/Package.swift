// swift-tools-version: 6.2
import PackageDescription

/// What a benchmark has to measure within a Swift process. A package of its own: nobody who uses netwatch builds it.
let package = Package(
  name: "netwatch-bench",
  products: [.executable(name: "bench-activity", targets: ["bench-activity"])],
  dependencies: [.package(name: "netwatch", path: "../..")],
  targets: [
    .target(name: "AllocationCount"),
    .executableTarget(
      name: "bench-activity",
      dependencies: ["AllocationCount", .product(name: "Netwatch", package: "netwatch")],
      path: "Sources/BenchActivity",
      swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error), .swiftLanguageMode(.v6)]),
  ]
)
