// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.strictMemorySafety(), .treatAllWarnings(as: .error), .swiftLanguageMode(.v6)]

let package = Package(
  name: "netwatch-gtk",
  products: [.library(name: "NetwatchGTK", targets: ["NetwatchGTK"])],
  // In your own manifest, write .package(url: …) here.
  dependencies: [
    .package(name: "netwatch", path: "../../.."),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.5.0"),
  ],
  targets: [
    .systemLibrary(name: "CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
    .target(
      name: "NetwatchGTK",
      dependencies: [
        "CGTK", .product(name: "Netwatch", package: "netwatch"), .product(name: "NetwatchHTTP", package: "netwatch"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "GTKTrial",
      dependencies: [
        "CGTK", "NetwatchGTK", .product(name: "NetwatchHTTP", package: "netwatch"),
        .product(name: "NetwatchNetlink", package: "netwatch"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "GTKExample",
      dependencies: ["NetwatchGTK", .product(name: "NetwatchNetlink", package: "netwatch")],
      swiftSettings: settings),
  ]
)
