// Prints what a NetworkMonitor says, one line for each signal. The words after -- are its options.
import QtQuick
import Netwatch

Item {
    function tell(signal, value) { console.log(signal, JSON.stringify(value)); }

    NetworkMonitor {
        options: Qt.application.arguments.slice(Qt.application.arguments.indexOf("--") + 1)
        onPathChanged: {
            const vpn = path.vpn ? path.vpn.interface : null;
            tell("path", [isReachable, reason, path.medium, path.interface, vpn, path.expensive, holds("unmetered")]);
            tell("description", description);
        }
        onActivityChanged: tell("activity", [activity.visible, activity.in_flight])
        onAccessChanged: tell("access", access)
        onStagesChanged: tell("stages", stages.failing)
        onQualityChanged: tell("quality", quality.interface)
        onTrafficChanged: tell("traffic", traffic.interface)
        onErrorChanged: tell("error", error)
    }
}
