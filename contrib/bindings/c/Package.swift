// swift-tools-version: 6.3
import PackageDescription

// Apart from the package above, which promises Swift 6.2: `@c` needs 6.3.
let package = Package(
  name: "netwatch-c",
  products: [.library(name: "LibNetwatch", type: .static, targets: ["LibNetwatch"])],
  dependencies: [.package(name: "netwatch", path: "../../..")],
  targets: [
    .systemLibrary(name: "CNetwatch"),
    .target(
      name: "LibNetwatch",
      dependencies: [
        "CNetwatch", .product(name: "Netwatch", package: "netwatch"),
        .product(name: "NetwatchLines", package: "netwatch"), .product(name: "NetwatchStream", package: "netwatch"),
      ],
      swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error), .swiftLanguageMode(.v6)]),
  ]
)
