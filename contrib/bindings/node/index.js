'use strict';

const { EventEmitter } = require('node:events');

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
  noService: ['no-service', 'boolean'],
  activity: ['activity', 'string'],
  activityIgnore: ['activity-ignore', 'strings'],
  activityInterval: ['activity-interval', 'number'],
  activityPatience: ['activity-patience', 'number'],
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

function pathOf(line) {
  const event = JSON.parse(line);
  const { status, medium, interface: link, expensive, vpn, wifi, ipv4, ipv6 } = event.reachability;
  return Object.freeze({
    status: statusOfWord[status],
    reachable: statusOfWord[status] > Status.notReachable,
    reason: event.reason,
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
    visible: event.activity.visible,
    inFlight: event.activity.in_flight,
    event,
    line,
  });
}

class Monitor extends EventEmitter {
  #handle;
  #path;
  #lines = [];

  constructor(options = {}) {
    super();
    this.#handle = addon.open(optionTexts(options), (lines, code, sentence) => this.#told(lines, code, sentence));
    this.#path = pathOf(addon.line(this.#handle));
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
    this.#lines.push(...lines);
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
    while (this.#lines.length > 0) {
      this.#path = pathOf(this.#lines.shift());
      let isDone = false;
      try {
        this.emit('change', this.#path);
        isDone = true;
      } finally {
        // A listener has thrown an error. If the process goes on, the other changes are still emitted.
        if (!isDone) setImmediate(() => this.#tell());
      }
    }
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
    this.#lines = [];
    process.nextTick(() => this.emit('close'));
  }
}

function current(options = {}) {
  const monitor = new Monitor(options);
  const { path } = monitor;
  monitor.close();
  return path;
}

module.exports = { Monitor, Status, current, version: addon.version };
