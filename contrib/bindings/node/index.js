'use strict';

const { EventEmitter, setMaxListeners } = require('node:events');

// contrib/bindings/node/build puts the addon beside this file. For tests, the variable NETWATCH_ADDON names another addon.
const addon = require(process.env.NETWATCH_ADDON || './netwatch.node');

const Status = Object.freeze({ unknown: -1, notReachable: 0, wwan: 1, wifi: 2 });

const statusOfWord = { unknown: Status.unknown, 'not-reachable': Status.notReachable, wwan: Status.wwan, wifi: Status.wifi };

// The name of each option in the C library, and the type of its value.
const names = {
  target: ['target', 'string'],
  interface: ['interface', 'strings'],
  ignore: ['ignore', 'strings'],
  wwan: ['wwan', 'strings'],
  tunnel: ['tunnel', 'strings'],
  expensive: ['expensive', 'strings'],
  notExpensive: ['not-expensive', 'strings'],
  hold: ['hold', 'number'],
  linkLocal: ['link-local', 'boolean'],
  rules: ['rules', 'boolean'],
  interfaces: ['interfaces', 'boolean'],
  networkId: ['network-id', 'boolean'],
  noService: ['no-service', 'boolean'],
  activity: ['activity', 'string'],
  activityIgnore: ['activity-ignore', 'strings'],
  activityInterval: ['activity-interval', 'number'],
  activityPatience: ['activity-patience', 'number'],
  probe: ['probe', 'string'],
  probeExpect: ['probe-expect', 'string'],
  probeInterval: ['probe-interval', 'number'],
  probeTimeout: ['probe-timeout', 'number'],
  stages: ['stages', 'boolean'],
  nudge: ['nudge', 'boolean'],
  announced: ['announced', 'boolean'],
  cable: ['cable', 'boolean'],
  each: ['each', 'boolean'],
  portalApi: ['portal-api', 'boolean'],
  quality: ['quality', 'boolean'],
  traffic: ['traffic', 'boolean'],
  trafficInterval: ['traffic-interval', 'number'],
  signal: ['signal', 'string'],
  wifiDetails: ['wifi-details', 'boolean'],
  bssid: ['bssid', 'boolean'],
};

function wrongType(name, type) {
  const error = new TypeError(`${name} must be a ${type}.`);
  error.code = 'ERR_INVALID_ARG_TYPE';
  return error;
}

function withoutNull(name, text) {
  if (typeof text !== 'string') throw wrongType(name, 'string');
  // C would cut it there.
  if (text.includes('\0')) throw wrongType(name, 'string without null characters');
  return text;
}

function optionTexts(options) {
  const texts = [];
  for (const [key, value] of Object.entries(options)) {
    if (!Object.hasOwn(names, key)) throw new TypeError(`There is no option '${key}'; there are ${Object.keys(names).join(', ')}.`);
    if (value === undefined || value === null) continue;
    const [name, type] = names[key];
    if (type === 'strings') {
      for (const one of Array.isArray(value) ? value : [value]) texts.push(`${name}=${withoutNull(key, one)}`);
    } else if (typeof value !== type) {
      throw wrongType(key, type);
    } else if (type === 'boolean') {
      if (value) texts.push(name);
    } else {
      texts.push(`${name}=${type === 'string' ? withoutNull(key, value) : value}`);
    }
  }
  return texts;
}

function captivePortalOf(portal) {
  if (!portal) return null;
  return Object.freeze({
    captive: portal.captive,
    userPortalUrl: portal.user_portal_url,
    venueInfoUrl: portal.venue_info_url,
    secondsRemaining: portal.seconds_remaining,
    bytesRemaining: portal.bytes_remaining,
  });
}

function pathOf(line, description) {
  const event = JSON.parse(line);
  const { status, medium, interface: link, expensive, vpn, wifi, ipv4, ipv6 } = event.reachability;
  // These keys are absent without their options, and null while nothing is known.
  const { quality, traffic, stages } = event;
  return Object.freeze({
    status: statusOfWord[status],
    reachable: statusOfWord[status] > Status.notReachable,
    reason: event.reason,
    scope: event.reachability.scope ?? null,
    medium,
    interface: link,
    vpn: vpn?.interface ?? null,
    ssid: wifi?.ssid ?? null,
    ipv4: ipv4?.address ?? null,
    ipv6: ipv6?.address ?? null,
    gateway4: ipv4?.gateway ?? null,
    gateway6: ipv6?.gateway ?? null,
    expensive,
    expensiveBecause: event.reachability.expensive_because ?? null,
    constrained: event.reachability.constrained ?? false,
    networkId: event.reachability.network_id ?? null,
    internet: event.reachability.internet ?? null,
    portalUrl: event.reachability.portal_url ?? null,
    portalApi: event.reachability.portal_api ?? null,
    nameServers: Object.freeze(event.reachability.name_servers ?? []),
    nat64Prefix: event.reachability.translation?.prefix ?? null,
    translatedBy: event.reachability.translation?.by ?? null,
    speedMbps: event.reachability.link?.speed_mbps ?? null,
    possibleMbps: event.reachability.link?.possible_mbps ?? null,
    noCarrierBecause: event.reachability.link?.no_carrier_because ?? null,
    uplinks: Object.freeze((event.uplinks ?? []).filter((link) => link.stages.failing === null).map((link) => link.interface)),
    wifiEnd: event.wifi_end?.text ?? null,
    captivePortal: captivePortalOf(event.reachability.captive_portal),
    stage: stages?.failing ?? null,
    rttMs: quality?.rtt_ms ?? null,
    lossPercent: quality?.loss_percent ?? null,
    rxBps: traffic?.rx_bps ?? null,
    txBps: traffic?.tx_bps ?? null,
    signalDbm: wifi?.signal_dbm ?? null,
    visible: event.activity.visible,
    inFlight: event.activity.in_flight,
    event,
    line,
    description,
  });
}

class NetworkLost extends Error {
  name = 'NetworkLost';
  code = 'ENETUNREACH';

  constructor(path) {
    super(`The network is lost: ${path.description}`);
    this.path = path;
  }
}

function closedError() {
  return Object.assign(new Error('The monitor is closed.'), { code: 'ERR_INVALID_STATE' });
}

class Monitor extends EventEmitter {
  #handle;
  #path;
  // The changes that are not emitted yet: the line of each, and its description.
  #changes = [];
  // The signal of all who use the network until it is lost; null if nobody does.
  #controller = null;
  // The functions to call after each change, and when the monitor is closed.
  #waiting = new Set();

  constructor(options = {}) {
    super();
    this.#handle = addon.open(optionTexts(options), (lines, code, sentence) => this.#told(lines, code, sentence));
    this.#path = pathOf(addon.line(this.#handle), addon.description(this.#handle));
  }

  get path() {
    return this.#path;
  }

  get rulesFault() {
    return this.#handle === null ? null : (addon.rulesFault(this.#handle) ?? null);
  }

  get closed() {
    return this.#handle === null;
  }

  #told(lines, code, sentence) {
    for (let i = 0; i < lines.length; i += 2) this.#changes.push([lines[i], lines[i + 1]]);
    try {
      this.#tell();
    } finally {
      if (code !== undefined && !this.closed) {
        this.close();
        this.emit('error', Object.assign(new Error(sentence), { code }));
      }
    }
  }

  #tell() {
    while (this.#changes.length > 0) {
      this.#path = pathOf(...this.#changes.shift());
      if (!this.#path.reachable) this.#lose();
      let isDone = false;
      try {
        this.emit('change', this.#path);
        isDone = true;
      } finally {
        // A listener has thrown an error. If the process goes on, the other changes are still emitted.
        if (!isDone) setImmediate(() => this.#tell());
      }
    }
    for (const look of [...this.#waiting]) look();
  }

  #lose() {
    this.#controller?.abort(new NetworkLost(this.#path));
    this.#controller = null;
  }

  signal() {
    if (this.closed) throw closedError();
    if (!this.#path.reachable) return AbortSignal.abort(new NetworkLost(this.#path));
    if (this.#controller === null) {
      this.#controller = new AbortController();
      // Any number of requests may use it at once.
      setMaxListeners(0, this.#controller.signal);
    }
    return this.#controller.signal;
  }

  holds(...conditions) {
    let doAllHold = true;
    for (const condition of conditions.length > 0 ? conditions : ['reachable'])
      if (!addon.holds(this.#handle, withoutNull('condition', condition))) doAllHold = false;
    return doAllHold;
  }

  async waitUntil(conditions, { signal } = {}) {
    const wanted = Array.isArray(conditions) ? conditions : [conditions];
    signal?.throwIfAborted();
    if (this.holds(...wanted)) return this.#path;
    return new Promise((resolve, reject) => {
      const end = (settle, value) => {
        this.#waiting.delete(look);
        signal?.removeEventListener('abort', abort);
        settle(value);
      };
      const look = () => {
        if (this.closed) end(reject, closedError());
        else if (this.holds(...wanted)) end(resolve, this.#path);
      };
      const abort = () => end(reject, signal.reason);
      this.#waiting.add(look);
      signal?.addEventListener('abort', abort);
    });
  }

  reachable(options) {
    return this.waitUntil('reachable', options);
  }

  request(label) {
    const text = label === undefined || label === null ? undefined : withoutNull('label', label);
    const handle = this.#handle;
    const number = addon.begin(handle, text);
    return {
      end: () => {
        if (this.#handle !== null) addon.end(handle, number);
      },
    };
  }

  ref() {
    if (this.#handle !== null) addon.refer(this.#handle, true);
    return this;
  }

  unref() {
    if (this.#handle !== null) addon.refer(this.#handle, false);
    return this;
  }

  close() {
    if (this.#handle === null) return;
    addon.close(this.#handle);
    this.#handle = null;
    this.#changes = [];
    for (const look of [...this.#waiting]) look();
    process.nextTick(() => this.emit('close'));
  }
}

function current(options = {}) {
  const monitor = new Monitor(options);
  const { path } = monitor;
  monitor.close();
  return path;
}

module.exports = { Monitor, NetworkLost, Status, current, version: addon.version };
