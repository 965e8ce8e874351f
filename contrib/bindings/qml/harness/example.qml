// Prints what the example for Quickshell shows.
import QtQuick
import "../../../examples/quickshell"

Netwatch {
    id: shown

    function tell() { console.log("text", shown.text, shown.color); }

    // The colour changes with the text, before or after it.
    onTextChanged: Qt.callLater(tell)
}
