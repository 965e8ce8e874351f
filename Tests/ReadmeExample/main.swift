import Netwatch
import NetwatchNetlink

let monitor = try NetworkMonitor.start()
print("now:", monitor.currentPath)
for try await path in monitor.paths { print(path) }
