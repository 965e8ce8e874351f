import Testing

@testable import NetwatchNetlink

@Suite struct ProcessUnitTests {
  private static let id = String(repeating: "0123456789abcdef", count: 4)

  /// The groups as systemd, Docker, Podman, Kubernetes and LXC name them.
  @Test(arguments: [
    ("0::/system.slice/ssh.service", "ssh.service"),
    ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-firefox-77.scope", "app-firefox-77.scope"),
    ("0::/user.slice/user-1000.slice/session-2.scope", "session-2.scope"),
    ("0::/system.slice/docker-\(id).scope", "docker-0123456789ab"), ("0::/docker/\(id)", "docker-0123456789ab"),
    ("0::/machine.slice/libpod-\(id).scope/container", "libpod-0123456789ab"),
    ("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-\(id).scope", "cri-containerd-0123456789ab"),
    ("0::/lxc.payload.web/system.slice/nginx.service", "nginx.service"), ("0::/", "/"),
    ("0::/init.scope", "init.scope"),
    ("0::/custom/group", "/custom/group"), ("", "/"), ("nonsense", "/"), ("0:", "/"),
    ("12:pids:/x\n1:name=systemd:/system.slice/cron.service\n0::/", "cron.service"),
    ("1:name=systemd:/docker/\(id)", "docker-0123456789ab"), ("0::/a:b.service", "a:b.service"),
  ])
  func `a process belongs to the unit or container of its control group`(_ cgroup: String, _ name: String) {
    #expect(ProcessUnit(cgroup: cgroup).name == name)
  }
}
