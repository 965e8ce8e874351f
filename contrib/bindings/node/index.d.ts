import { EventEmitter } from 'node:events';

/** Whether the target is reachable. The numbers are those of AFNetworking. */
export declare const Status: {
  /** Not known yet: the name of a host is still being looked up, or no name server has answered. */
  readonly unknown: -1;
  /** There is no way to the target. */
  readonly notReachable: 0;
  /** Reachable over a cellular link. */
  readonly wwan: 1;
  /** Reachable over any other link, including wired links. `Path.medium` is the kind of the link. */
  readonly wifi: 2;
};

/** One of the numbers of `Status`. */
export type Status = (typeof Status)[keyof typeof Status];

/** The kind of a link. */
export type Medium = 'wifi' | 'wired' | 'wwan' | 'bluetooth' | 'virtual' | 'other';

/** What a network says about the login of this machine (RFC 8908). */
export interface CaptivePortal {
  /** Whether a login is needed. */
  readonly captive: boolean;
  /** The address of the login page, with https. Null if the network names none that can be opened. */
  readonly userPortalUrl: string | null;
  /** The address of a page about the place, with https. Null if the network names none that can be opened. */
  readonly venueInfoUrl: string | null;
  /** The seconds, from the time of the path on, after which the network lets nothing through any more. Null without a limit. */
  readonly secondsRemaining: number | null;
  /** The bytes that the network still lets through, as of its answer. Null without a limit. */
  readonly bytesRemaining: number | null;
}

/** The way to the internet, or to the target, at one moment. A path never changes: each change gives a new one. */
export interface Path {
  /** Whether the target is reachable, as a number of `Status`. */
  readonly status: Status;
  /** Whether the status is `Status.wifi` or `Status.wwan`. */
  readonly reachable: boolean;
  /** Why this path was reported, such as "initial", "no_carrier" or "route_up". netwatch-events(5) lists the reasons. */
  readonly reason: string;
  /** "local" if nothing leads to the internet, but other machines of the own network are known. Otherwise null. */
  readonly scope: 'local' | null;
  /** The kind of the link. Null unless reachable. */
  readonly medium: Medium | null;
  /** The name of the link, such as "enp1s0". Null unless reachable. */
  readonly interface: string | null;
  /** The name of the tunnel that the traffic goes through, such as "wg0". Null if there is no tunnel. */
  readonly vpn: string | null;
  /** The name of the WiFi network. Null if the traffic does not go over one. */
  readonly ssid: string | null;
  /** The IPv4 source address. Null if IPv4 does not reach the target. */
  readonly ipv4: string | null;
  /** The IPv6 source address. Null if IPv6 does not reach the target. */
  readonly ipv6: string | null;
  /**
   * The next hop of IPv4, which may be an IPv6 address. Null over a tunnel or a point-to-point link, if the target is on the link
   * itself, or if IPv4 does not reach the target.
   */
  readonly gateway4: string | null;
  /**
   * The next hop of IPv6. Null over a tunnel or a point-to-point link, if the target is on the link itself, or if IPv6 does not
   * reach the target.
   */
  readonly gateway6: string | null;
  /** Whether the link may cost money, as a cellular link does. Null unless reachable. */
  readonly expensive: boolean | null;
  /**
   * The reason why the link may cost money: "modem", "bluetooth", "usb", "beacon", "lease" or "rule". Null if it does not, or if the
   * reason is not known.
   */
  readonly expensiveBecause: string | null;
  /** Whether a rule asks to send little over the link. */
  readonly constrained: boolean;
  /** The ID of the network. Null while it is not known, or without the option `networkId`. */
  readonly networkId: string | null;
  /** What the last probe has found. Null without the option `probe`. */
  readonly internet: 'full' | 'portal' | 'none' | 'unknown' | null;
  /** The address of the login page. Null if the probe has found none. */
  readonly portalUrl: string | null;
  /** The first stage of the way to the internet that fails. Null if none fails, or without the option `stages`. */
  readonly stage: 'link' | 'address' | 'gateway' | 'dns' | 'internet' | null;
  /**
   * The URI at which the network says whether a login is needed (RFC 8910). Null if it has said nothing, or without the option
   * `announced`.
   */
  readonly portalApi: string | null;
  /** The addresses of the name servers that the network has named. Empty if it has named none, or without the option `announced`. */
  readonly nameServers: readonly string[];
  /** The prefix of NAT64 that a router has advertised (RFC 8781). Null if none has, or without the option `announced`. */
  readonly nat64Prefix: string | null;
  /**
   * Who translates the IPv4 of this machine: itself ("clat"), the network alone ("nat64") or nobody, though it could ("none"). Null if
   * nothing is known, or without the option `announced`.
   */
  readonly translatedBy: 'clat' | 'nat64' | 'none' | null;
  /** The speed of the cable in megabits per second. Null if it is not known, or without the option `cable`. */
  readonly speedMbps: number | null;
  /** The highest speed in megabits per second that both ends of the cable offer. Null if it is not known, or without the option `cable`. */
  readonly possibleMbps: number | null;
  /** Why there is no carrier, such as "no_cable". Null if the driver does not say, or without the option `cable`. */
  readonly noCarrierBecause: string | null;
  /**
   * The names of the interfaces that carry the traffic or could, each judged as if it were the only one. Empty if there is none, or without
   * the option `each`.
   */
  readonly uplinks: readonly string[];
  /** A sentence about why a WiFi network was left or not joined. Null if that has not happened, or is not known. */
  readonly wifiEnd: string | null;
  /** What the network says about the login. Null until it has answered, or without the option `portalApi`. */
  readonly captivePortal: CaptivePortal | null;
  /** The round-trip time in milliseconds. Null while it is not known, or without the option `quality`. */
  readonly rttMs: number | null;
  /** The lost part of what this machine sends, in per cent. Null while it is not known, or without the option `quality`. */
  readonly lossPercent: number | null;
  /** The bits that the link receives in a second. Null while the rate is not known, or without the option `traffic`. */
  readonly rxBps: number | null;
  /** The bits that the link sends in a second. Null while the rate is not known, or without the option `traffic`. */
  readonly txBps: number | null;
  /** The signal of the WiFi network. Null if the traffic does not go over one, or the signal is not known. */
  readonly signalDbm: number | null;
  /** Whether to show the activity indicator. */
  readonly visible: boolean;
  /** The number of requests in flight. */
  readonly inFlight: number;
  /** The line as an object. netwatch-events(5) describes it. */
  readonly event: Readonly<Record<string, unknown>>;
  /** The whole state as one line of JSON, without a line feed. */
  readonly line: string;
  /** The path in words, such as "wired eth0, 10.0.0.2; via VPN tun0" or "not reachable: no carrier". */
  readonly description: string;
}

/** The reason with which `Monitor.signal()` aborts: the target is not reachable any more. */
export declare class NetworkLost extends Error {
  readonly name: 'NetworkLost';
  readonly code: 'ENETUNREACH';
  /** The path of the loss. */
  readonly path: Path;
}

/** The options of a monitor. They are options of the command `netwatch`. */
export interface Options {
  /** The address, host or "host:port" to reach. Default: the internet. */
  target?: string | null;
  /** A pattern, or patterns, for the names of links. Only these links count as ways out. Default: all links. */
  interface?: string | readonly string[] | null;
  /** A pattern, or patterns, for links to treat as if they did not exist. */
  ignore?: string | readonly string[] | null;
  /** A pattern, or patterns, for links to treat as cellular. */
  wwan?: string | readonly string[] | null;
  /** A pattern, or patterns, for links to treat as tunnels. */
  tunnel?: string | readonly string[] | null;
  /** A pattern, or patterns, for links, or for their WiFi networks, whose use may cost money. */
  expensive?: string | readonly string[] | null;
  /** A pattern, or patterns, for links, or for their WiFi networks, that cost nothing. Wins over everything else. */
  notExpensive?: string | readonly string[] | null;
  /** The time in seconds that a loss must last before it is reported. Default: 0. */
  hold?: number | null;
  /** Whether an IPv4 address of 169.254.0.0/16 is accepted as usable. Default: false. */
  linkLocal?: boolean | null;
  /**
   * Whether the files of rules count, as for the command: /etc/netwatch/rules and ~/.config/netwatch/rules, which netwatch-rules(5)
   * describes. `Monitor.rulesFault` says what is wrong with them. A probe in them does not count. Default: false.
   */
  rules?: boolean | null;
  /** Whether to list every link in `Path.event`, and to report each change of this list. Default: false. */
  interfaces?: boolean | null;
  /**
   * Whether to recognize the network by an ID, for `Path.networkId` and the condition "network=ID". A change is also reported when the
   * ID becomes known. Default: false.
   */
  networkId?: boolean | null;
  /** Whether to use no netwatch service, even if one runs. Default: false. */
  noService?: boolean | null;
  /** What counts as in flight: "requests", "tcp", "udp", "all", or several with commas between them. Default: "requests". */
  activity?: string | null;
  /** Ports, addresses or programs whose TCP connections and UDP traffic do not count. Default: none. */
  activityIgnore?: string | readonly string[] | null;
  /** The time in seconds between two looks at TCP connections. Default: 0.5. */
  activityInterval?: number | null;
  /** The time in seconds after which a waiting TCP connection is treated as a long poll, not as a request. Default: 30. */
  activityPatience?: number | null;
  /**
   * The URL that is asked whether the internet answers, for `Path.internet` and the condition "internet". For each probe, the library
   * starts the program netwatch-http of the package netwatch. Default: none, and then it starts no process.
   */
  probe?: string | null;
  /** The text with which the body of the answer has to begin. Default: none, the body has to be empty. */
  probeExpect?: string | null;
  /** The time in seconds between two probes. Default: 300. */
  probeInterval?: number | null;
  /** The longest time in seconds to wait for an answer. Default: 10. */
  probeTimeout?: number | null;
  /**
   * Whether to find the stage of the way to the internet that fails, for `Path.stage` and the conditions "stage=STAGE". Default: false.
   */
  stages?: boolean | null;
  /** With `stages`, whether to send the gateway an empty datagram while nothing else proves that it is alive. Default: false. */
  nudge?: boolean | null;
  /** Whether to listen to what the network says about itself, for `portalApi`. No packet is sent. Default: false. */
  announced?: boolean | null;
  /** Whether to ask the driver of the network card about its cable, for `Path.speedMbps` and others. Default: false. */
  cable?: boolean | null;
  /** Whether to judge each interface that could carry the traffic, for `Path.uplinks` and the condition "uplink=MEDIUM". Default: false. */
  each?: boolean | null;
  /**
   * Whether to ask the server that the network names whether a login is needed (RFC 8908), for `captivePortal`. For each request, the
   * library starts the program netwatch-http of the package netwatch. Default: false, and then nothing is asked.
   */
  portalApi?: boolean | null;
  /** Whether to measure the round-trip time and the loss, for `Path.rttMs` and `Path.lossPercent`. Default: false. */
  quality?: boolean | null;
  /** Whether to report each second how much the link receives and sends, in `Path.rxBps` and `Path.txBps`. Default: false. */
  traffic?: boolean | null;
  /** With `traffic`, the time in seconds between two reports, at least 0.1. Default: 1. */
  trafficInterval?: number | null;
  /** Which changes of the WiFi signal are reported. Default: none. */
  signal?: 'steps' | 'dbm' | null;
  /** Whether `Path.event` also has the frequency and the bit rates of the WiFi network. Default: false. */
  wifiDetails?: boolean | null;
  /** Whether `Path.event` also has the address of the access point, which reveals where you are. Default: false. */
  bssid?: boolean | null;
}

/**
 * A condition of `netwatch --check --for`: "reachable", "not-reachable", "wifi", "wwan", "wired", "unmetered", "vpn", "not-vpn",
 * "internet", "medium=MEDIUM", "ssid=NAME", "network=ID", "stage=STAGE" or "uplink=MEDIUM". What is not known does not hold.
 */
export type Condition = string;

/** A request that runs: something that this process waits for from the network. */
export interface Request {
  /** Ends the request. If the request has already ended, this does nothing. */
  end(): void;
}

/** The events of a monitor, each with the arguments that its listeners get. */
export interface Events {
  /** The state has changed. */
  change: [path: Path];
  /** The kernel's messages are lost for good, and the monitor has closed itself. */
  error: [error: NodeJS.ErrnoException];
  /** The monitor is closed. */
  close: [];
}

/** Watches the network, and emits "change" for each change. Keeps the process running until `close()` or `unref()` is called. */
export declare class Monitor extends EventEmitter {
  /**
   * Opens a monitor. The state of the internet or of an address is known when this returns.
   *
   * Throws an Error with a code such as "EINVAL" if the monitor cannot be opened; "ENOENT" if netwatch-http is missing for `probe`.
   */
  constructor(options?: Options);

  /** The state at the last change, or when the monitor was opened. */
  readonly path: Path;

  /**
   * A sentence about the first line of the files of rules that is not understood, or the first file that is not trusted. Null if
   * there is none, or if the monitor was opened without `rules`.
   */
  readonly rulesFault: string | null;

  /** Whether the monitor is closed. */
  readonly closed: boolean;

  /**
   * Returns a signal that aborts when the target is not reachable any more, with `NetworkLost` as its reason; if it is not reachable
   * now, the signal has aborted. Until the loss, each call returns the same signal. After `close()`, it never aborts.
   */
  signal(): AbortSignal;

  /**
   * Whether all of these conditions hold now. Without a condition: whether the target is reachable.
   *
   * Throws an Error with the code "EINVAL" if there is no such condition, or if it needs an option that the monitor was opened
   * without: `probe` for "internet", "stage=dns" and "stage=internet", `stages` for "stage=STAGE", `networkId` for
   * "network=ID", and `each` for "uplink=MEDIUM".
   */
  holds(...conditions: Condition[]): boolean;

  /**
   * Waits until all of these conditions hold at the same time, and returns the path.
   *
   * Throws the reason of `signal` if that aborts, and an Error if the monitor is closed.
   *
   * @param options.signal Ends the wait, such as `AbortSignal.timeout(5000)`. Default: no limit.
   */
  waitUntil(conditions: Condition | readonly Condition[], options?: { signal?: AbortSignal }): Promise<Path>;

  /** Waits until the target is reachable, as `waitUntil('reachable', options)` does. */
  reachable(options?: { signal?: AbortSignal }): Promise<Path>;

  /**
   * Begins a request. `path.visible` becomes true one second after the first request has begun, if a request runs then, and false
   * 0.17 seconds after the last one has ended. If a netwatch service runs, the request is reported to it.
   *
   * @param label A short description of the request, for people. Default: none.
   */
  request(label?: string | null): Request;

  /** Keeps the process running while the monitor is open. This is the default. */
  ref(): this;

  /** Lets the process end while the monitor is open. */
  unref(): this;

  /** Closes the monitor and ends its requests. If the monitor is already closed, this does nothing. */
  close(): void;

  on<Name extends keyof Events>(event: Name, listener: (...arguments_: Events[Name]) => void): this;
  once<Name extends keyof Events>(event: Name, listener: (...arguments_: Events[Name]) => void): this;
  off<Name extends keyof Events>(event: Name, listener: (...arguments_: Events[Name]) => void): this;
}

/**
 * Returns the state now. If the target is the name of a host, the status is `Status.unknown`. In that case, open a `Monitor` and
 * wait for its change.
 */
export declare function current(options?: Options): Path;

/** The version of the C library, such as "0.1.0". */
export declare const version: string;
