// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "example",
  dependencies: [.package(url: "URL of this repository", branch: "main")],
  targets: [
    .executableTarget(
      name: "example",
      dependencies: [
        .product(name: "Netwatch", package: "netwatch"),
        .product(name: "NetwatchNetlink", package: "netwatch"),
      ])
  ])
