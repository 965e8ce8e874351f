// Into ~/.config/quickshell: Netwatch {} in a bar of yours.
import QtQuick
import Quickshell.Io

Text {
    property var net: null

    textFormat: Text.PlainText // A network may be called anything.
    text: !net ? "" : net.activity.visible ? "⇅" : net.reachability.interface ?? "offline"
    color: net?.reachability.interface ? "#56b4e9" : "#d55e00"

    Process {
        running: true
        command: ["netwatch", "--follow", "--json"]
        stdout: SplitParser {
            onRead: line => net = JSON.parse(line)
        }
    }
}
