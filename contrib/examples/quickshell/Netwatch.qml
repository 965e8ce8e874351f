// Into ~/.config/quickshell: Netwatch {} in a bar of yours. It needs the package qml6-module-netwatch.
import QtQuick
import Netwatch

Text {
    NetworkMonitor { id: net }

    textFormat: Text.PlainText // A network may be called anything.
    text: net.activity.visible ? "⇅" : net.isReachable ? net.path.interface : "offline"
    color: net.isReachable ? "#56b4e9" : "#d55e00"
}
