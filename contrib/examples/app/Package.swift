// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "NetwatchApp",
  // In your own manifest, write .package(url: …) here.
  dependencies: [.package(name: "netwatch", path: "../../..")],
  targets: [
    .executableTarget(
      name: "NetwatchApp",
      dependencies: [
        .product(name: "Netwatch", package: "netwatch"), .product(name: "NetwatchNetlink", package: "netwatch"),
        .product(name: "NetwatchStream", package: "netwatch"),
      ], path: "Sources")
  ]
)
