import Netwatch
import NetwatchNetlink

let monitor = try NetworkMonitor.start()
print("now:", monitor.currentPath)
