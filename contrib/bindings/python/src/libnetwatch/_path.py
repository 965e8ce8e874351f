"""The state of the network, as a value."""

from __future__ import annotations

import enum
import functools
import json
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple


class Status(enum.IntEnum):
    """Whether the target is reachable. The numbers are those of AFNetworking; as text, a status is its name, such as "WIFI"."""

    UNKNOWN = -1
    """Not known yet: the name of a host is still being looked up, or no name server has answered."""

    NOT_REACHABLE = 0
    """There is no way to the target."""

    WWAN = 1
    """Reachable over a cellular link."""

    WIFI = 2
    """Reachable over any other link, including wired links. `Path.medium` is the kind of the link."""

    # Without these, the text is the name in some versions of Python and the number in others.
    def __str__(self) -> str:
        return self.name

    def __format__(self, specification: str) -> str:
        return format(self.name, specification)


_PORTAL_FIELDS = ("captive", "user_portal_url", "venue_info_url", "seconds_remaining", "bytes_remaining")

_STATUS_OF_WORD = {
    "unknown": Status.UNKNOWN,
    "not-reachable": Status.NOT_REACHABLE,
    "wwan": Status.WWAN,
    "wifi": Status.WIFI,
}


@dataclass(frozen=True)
class CaptivePortal:
    """What a network says about the login of this machine (RFC 8908)."""

    captive: bool
    """Whether a login is needed."""

    user_portal_url: Optional[str] = None
    """The address of the login page, with https. None if the network names none that can be opened."""

    venue_info_url: Optional[str] = None
    """The address of a page about the place, with https. None if the network names none that can be opened."""

    seconds_remaining: Optional[int] = None
    """The seconds, from the time of the path on, after which the network lets nothing through any more. None without a limit."""

    bytes_remaining: Optional[int] = None
    """The bytes that the network still lets through, as of its answer. None without a limit."""


@dataclass(frozen=True)
class Path:
    """The way to the internet, or to the target, at one moment. A path never changes: each change gives a new one.

    `print(path)` says the path in words. Two paths are equal if all fields but `line` and `description` are equal.
    """

    status: Status
    """Whether the target is reachable."""

    reason: str
    """Why this path was reported, such as "initial", "no_carrier" or "route_up". netwatch-events(5) lists the reasons."""

    scope: Optional[str] = None
    """"local" if nothing leads to the internet, but other machines of the own network are known. Otherwise None."""

    medium: Optional[str] = None
    """The kind of the link: "wifi", "wired", "wwan", "bluetooth", "virtual" or "other". None unless reachable."""

    interface: Optional[str] = None
    """The name of the link, such as "enp1s0". None unless reachable."""

    vpn: Optional[str] = None
    """The name of the tunnel that the traffic goes through, such as "wg0". None if there is no tunnel."""

    ssid: Optional[str] = None
    """The name of the WiFi network. None if the traffic does not go over one."""

    ipv4: Optional[str] = None
    """The IPv4 source address. None if IPv4 does not reach the target."""

    ipv6: Optional[str] = None
    """The IPv6 source address. None if IPv6 does not reach the target."""

    gateway4: Optional[str] = None
    """The next hop of IPv4, which may be an IPv6 address. None over a tunnel or a point-to-point link, if the target is on
    the link itself, or if IPv4 does not reach the target."""

    gateway6: Optional[str] = None
    """The next hop of IPv6. None over a tunnel or a point-to-point link, if the target is on the link itself, or if IPv6 does
    not reach the target."""

    expensive: Optional[bool] = None
    """Whether the link may cost money, as a cellular link does. None unless reachable."""

    expensive_because: Optional[str] = None
    """The reason why the link may cost money: "modem", "bluetooth", "usb", "beacon", "lease" or "rule". None if it does not, or if
    the reason is not known."""

    constrained: bool = False
    """Whether a rule asks to send little over the link."""

    network_id: Optional[str] = None
    """The ID of the network. None while it is not known, or without the option `network_id`."""

    internet: Optional[str] = None
    """What the last probe has found: "full", "portal", "none" or "unknown". None without the option `probe`."""

    portal_url: Optional[str] = None
    """The address of the login page. None if the probe has found none."""

    stage: Optional[str] = None
    """The first stage of the way to the internet that fails: "link", "address", "gateway", "dns" or "internet". None if none
    fails, or without the option `stages`."""

    rtt_ms: Optional[float] = None
    """The round-trip time in milliseconds. None while it is not known, or without the option `quality`."""

    loss_percent: Optional[float] = None
    """The lost part of what this machine sends. None while it is not known, or without the option `quality`."""

    portal_api: Optional[str] = None
    """The URI at which the network says whether a login is needed (RFC 8910). None if it has said nothing, or without the option
    `announced`."""

    name_servers: Tuple[str, ...] = ()
    """The addresses of the name servers that the network has named. Empty if it has named none, or without the option `announced`."""

    nat64_prefix: Optional[str] = None
    """The prefix of NAT64 that a router has advertised (RFC 8781). None if none has, or without the option `announced`."""

    translated_by: Optional[str] = None
    """Who translates the IPv4 of this machine: itself ("clat"), the network alone ("nat64") or nobody, though it could ("none"). None
    if nothing is known, or without the option `announced`."""

    speed_mbps: Optional[int] = None
    """The speed of the cable in megabits per second. None if it is not known, or without the option `cable`."""

    possible_mbps: Optional[int] = None
    """The highest speed in megabits per second that both ends of the cable offer. None if it is not known, or without the option
    `cable`."""

    no_carrier_because: Optional[str] = None
    """Why there is no carrier, such as "no_cable". None if the driver does not say, or without the option `cable`."""

    uplinks: Tuple[str, ...] = ()
    """The names of the interfaces that carry the traffic or could, each judged as if it were the only one. Empty if there is none, or
    without the option `each`."""

    wifi_end: Optional[str] = None
    """A sentence about why a WiFi network was left or not joined. None if that has not happened, or is not known."""

    captive_portal: Optional[CaptivePortal] = None
    """What the network says about the login. None until it has answered, or without the option `portal_api`."""

    rx_bps: Optional[int] = None
    """The bits that the link receives in a second. None while the rate is not known, or without the option `traffic`."""

    tx_bps: Optional[int] = None
    """The bits that the link sends in a second. None while the rate is not known, or without the option `traffic`."""

    signal_dbm: Optional[int] = None
    """The signal of the WiFi network. None if the traffic does not go over one, or the signal is not known."""

    visible: bool = False
    """Whether to show the activity indicator."""

    in_flight: int = 0
    """The number of requests in flight."""

    line: str = field(default="", repr=False, compare=False)
    """The whole state as one line of JSON, without a line feed. netwatch-events(5) describes it."""

    description: str = field(default="", repr=False, compare=False)
    """The path in words, such as "wired eth0, 10.0.0.2; via VPN tun0" or "not reachable: no carrier". Empty if the path does not
    come from a monitor."""

    def __str__(self) -> str:
        return self.description or f"{self.status}: {self.reason}"

    @property
    def reachable(self) -> bool:
        """Whether the status is `Status.WIFI` or `Status.WWAN`."""
        return self.status > Status.NOT_REACHABLE

    @functools.cached_property
    def event(self) -> Dict[str, Any]:
        """The line as a dictionary."""
        event: Dict[str, Any] = json.loads(self.line)
        return event

    @classmethod
    def from_line(cls, line: str, description: str = "") -> Path:
        """Returns the path that a line of JSON describes: one of `Path.line`, or one that `netwatch --follow --json` prints.

        description: The path in words. Default: none.
        """
        event = json.loads(line)
        reachability, activity = event["reachability"], event["activity"]
        # These keys are absent without their options, and null while nothing is known.
        quality, traffic, stages = (event.get(key) or {} for key in ("quality", "traffic", "stages"))

        def part(name: str, key: str) -> Optional[str]:
            value: Optional[Dict[str, Optional[str]]] = reachability[name]
            return None if value is None else value[key]

        portal = reachability.get("captive_portal")
        translation = reachability.get("translation") or {}
        link = reachability.get("link") or {}
        path = cls(
            status=_STATUS_OF_WORD[reachability["status"]],
            reason=event["reason"],
            scope=reachability.get("scope"),
            medium=reachability["medium"],
            interface=reachability["interface"],
            vpn=part("vpn", "interface"),
            ssid=part("wifi", "ssid"),
            ipv4=part("ipv4", "address"),
            ipv6=part("ipv6", "address"),
            gateway4=part("ipv4", "gateway"),
            gateway6=part("ipv6", "gateway"),
            expensive=reachability["expensive"],
            expensive_because=reachability.get("expensive_because"),
            constrained=reachability.get("constrained", False),
            network_id=reachability.get("network_id"),
            internet=reachability.get("internet"),
            portal_url=reachability.get("portal_url"),
            stage=stages.get("failing"),
            rtt_ms=quality.get("rtt_ms"),
            loss_percent=quality.get("loss_percent"),
            portal_api=reachability.get("portal_api"),
            name_servers=tuple(reachability.get("name_servers", ())),
            nat64_prefix=translation.get("prefix"),
            translated_by=translation.get("by"),
            speed_mbps=link.get("speed_mbps"),
            possible_mbps=link.get("possible_mbps"),
            no_carrier_because=link.get("no_carrier_because"),
            uplinks=tuple(
                uplink["interface"] for uplink in event.get("uplinks", ()) if uplink["stages"]["failing"] is None
            ),
            wifi_end=(event.get("wifi_end") or {}).get("text"),
            captive_portal=None if portal is None else CaptivePortal(**{name: portal[name] for name in _PORTAL_FIELDS}),
            rx_bps=traffic.get("rx_bps"),
            tx_bps=traffic.get("tx_bps"),
            signal_dbm=(reachability["wifi"] or {}).get("signal_dbm"),
            visible=activity["visible"],
            in_flight=activity["in_flight"],
            line=line,
            description=description,
        )
        # This saves functools.cached_property from decoding the line again.
        path.__dict__["event"] = event
        return path
