'use strict';
// Tries the package beside a cable that the commands `pull` and `plug-in` take away and bring back: try.js FOLDER
// The command `in-router` runs another command at the other end of the cable. Prints a line for each expectation; the exit status is 1 if one is not met.
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const { Worker } = require('node:worker_threads');

const folder = process.argv[2];
const { Monitor, NetworkLost, Status, current, version } = require(folder);
const patience = 30000;
// How often the cable is pulled to measure when a request ends, and the longest time that this may take in 99 of 100 cases.
const rounds = 100;
const mostMilliseconds = 50;

function expect(what, isSo) {
  let why = '';
  let met = false;
  try {
    met = typeof isSo === 'function' ? isSo() : isSo;
  } catch (error) {
    why = `: ${error.stack}`;
  }
  console.error(met ? `  ok      ${what}` : `  FAILED  ${what}${why}`);
  if (!met) process.exitCode = 1;
}

function thrown(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** The path of the next change with this reason. */
function change(monitor, reason) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`there was no ${reason}`)), patience);
    const listener = (path) => {
      if (path.reason !== reason) return;
      clearTimeout(timer);
      monitor.off('change', listener);
      resolve(path);
    };
    monitor.on('change', listener);
  });
}

/** What a program says that has this package as `n`. */
function run(program, milliseconds = patience) {
  const source = `const n = require(${JSON.stringify(folder)}); ${program}`;
  return spawnSync(process.execPath, ['-e', source], { encoding: 'utf8', timeout: milliseconds, killSignal: 'SIGKILL' });
}

function checkState() {
  const path = current();
  expect('current(): is reachable over the cable', path.status === Status.wifi && path.reachable && path.interface === 'enp1s0');
  expect('current(): has its addresses', path.ipv4 === '192.168.1.23' && path.gateway4 === '192.168.1.1');
  expect('current(): lacks the rest', [path.ipv6, path.gateway6, path.vpn, path.ssid].every((value) => value === null));
  expect('current(): has a price', path.expensive === false);
  expect('Path: has its line', () => JSON.parse(path.line).reachability.interface === 'enp1s0' && path.event.v === 1);
  expect('Path: is said in words', path.description === `${path.medium} enp1s0, 192.168.1.23`);
  expect('Status: has the numbers of AFNetworking', () => Object.values(Status).join() === '-1,0,1,2');
  const lost = current({ ignore: ['wl*', 'enp*'] });
  expect('options: a list of patterns', lost.status === Status.notReachable && lost.reason === 'no_route');
  expect('options: one pattern', () => current({ ignore: 'enp*' }).interface === null);
  expect('options: a flag', () => Array.isArray(current({ interfaces: true }).event.interfaces));
  expect('options: an address', () => current({ target: '192.168.1.1' }).gateway4 === null);
  expect('options: undefined is none', () => current({ target: undefined, hold: null }).reachable);
  expect('version: is a text', version.includes('.'));
}

function checkErrors() {
  const error = thrown(() => new Monitor({ hold: NaN }));
  expect('errors: a value that makes no sense', () => error.code === 'EINVAL' && error.message.includes('hold'));
  expect('errors: an option that does not exist', () => thrown(() => new Monitor({ colour: 'red' })).message.includes('colour'));
  expect('errors: a type that is wrong', () => thrown(() => new Monitor({ hold: '2' })).code === 'ERR_INVALID_ARG_TYPE');
  expect('errors: a null character', () => thrown(() => new Monitor({ target: 'a\0b' })) instanceof TypeError);
  const monitor = new Monitor();
  const request = monitor.request();
  monitor.close();
  monitor.close();
  request.end();
  expect('errors: request() after close()', () => monitor.closed && thrown(() => monitor.request()).message.includes('closed'));
}

async function checkCable() {
  const monitor = new Monitor();
  expect('path: is known at once', monitor.path.reason === 'initial');
  let told = change(monitor, 'no_carrier');
  execFileSync('pull');
  expect('change: the cable is pulled', (await told).status === Status.notReachable);
  expect('path: is the last one', monitor.path.reason === 'no_carrier');
  told = change(monitor, 'route_up');
  execFileSync('plug-in');
  expect('change: the cable is back', (await told).interface === 'enp1s0');
  const closed = once(monitor, 'close');
  monitor.close();
  await closed;
  expect('close: is told', true);
}

async function checkConditions() {
  const monitor = new Monitor();
  const limit = () => ({ signal: AbortSignal.timeout(patience) });
  expect('holds(): one condition', monitor.holds('reachable') === true && monitor.holds('wwan') === false);
  expect('holds(): several', monitor.holds('wifi', 'not-vpn') && !monitor.holds('wifi', 'vpn') && monitor.holds());
  const unknown = thrown(() => monitor.holds('vpn', 'colour'));
  expect('holds(): no such condition', () => unknown.code === 'EINVAL' && unknown.message.includes('colour'));
  expect('holds(): lacks an option', () => thrown(() => monitor.holds('internet')).message.includes('probe'));
  expect('holds(): a type that is wrong', () => thrown(() => monitor.holds(1)).code === 'ERR_INVALID_ARG_TYPE');
  expect('reachable(): at once', (await monitor.reachable()).reachable);
  const late = await monitor.waitUntil('vpn', { signal: AbortSignal.timeout(20) }).catch((error) => error);
  expect('waitUntil(): ends with its signal', late.name === 'TimeoutError');
  const early = await monitor.waitUntil('vpn', { signal: AbortSignal.abort(new Error('mine')) }).catch((error) => error);
  expect('waitUntil(): a signal that has aborted', early.message === 'mine');
  const before = monitor.signal();
  expect('signal(): is one until the loss', before === monitor.signal() && !before.aborted);
  const lost = monitor.waitUntil(['not-reachable'], limit());
  execFileSync('pull');
  expect('waitUntil(): the cable is pulled', (await lost).reason === 'no_carrier');
  expect('signal(): has aborted', before.aborted && before.reason instanceof NetworkLost && before.reason.path.reason === 'no_carrier');
  expect('signal(): has aborted from the beginning', monitor.signal().aborted && monitor.signal().reason.code === 'ENETUNREACH');
  const back = [monitor.reachable(limit()), monitor.waitUntil(['reachable', 'wifi'], limit())];
  execFileSync('plug-in');
  expect('reachable(): the cable is back', (await Promise.all(back)).every((path) => path.reachable));
  expect('signal(): is another one then', before !== monitor.signal() && !monitor.signal().aborted);
  const ended = monitor.waitUntil('vpn').catch((error) => error);
  monitor.close();
  expect('waitUntil(): ends with its monitor', (await ended).message.includes('closed'));
  expect('signal(): after close()', thrown(() => monitor.signal()).message.includes('closed'));

  const measuring = new Monitor({ traffic: true, trafficInterval: 0.1, stages: true, quality: true });
  while (measuring.path.rxBps === null) await once(measuring, 'change');
  expect('traffic: has rates', typeof measuring.path.txBps === 'number');
  expect('stages: the link works', measuring.holds('stage=link') && measuring.path.stage === null);
  measuring.close();
}

/** Asks a server, and returns the error with which that ends. The fetch of Node.js 18 does not see each abort of its signal. */
function ask(signal) {
  const url = 'http://192.168.1.1:8080/';
  if (Number.parseInt(process.versions.node) >= 20) return fetch(url, { signal }).catch((error) => error);
  return new Promise((resolve) => http.get(url, { signal }).on('error', (error) => resolve(error.cause ?? error)));
}

/** Pulls the cable while a server does not answer, and measures when the request ends. */
async function checkLoss() {
  const program =
    "require('node:net').createServer((s) => s.on('data', () => console.log('asked')).on('error', () => {})).listen(8080, '192.168.1.1', () => console.log('ready'))";
  const server = spawn('in-router', [process.execPath, '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const cable = spawn('in-router', ['ip', '-batch', '-'], { stdio: ['pipe', 'inherit', 'inherit'] });
  await once(server.stdout, 'data');
  const monitor = new Monitor();
  const limit = () => ({ signal: AbortSignal.timeout(patience) });
  const measure = async () => {
    const times = [];
    let isWhole = true;
    for (let round = 0; round < rounds; round++) {
      await monitor.reachable(limit());
      const signal = monitor.signal();
      const asked = once(server.stdout, 'data');
      const request = ask(signal);
      await asked;
      const began = performance.now();
      cable.stdin.write('link set cable down\n');
      const error = await request;
      times.push(performance.now() - began);
      isWhole &&= error === signal.reason && error instanceof NetworkLost && error.path.reason === 'no_carrier';
      cable.stdin.write('link set cable up\n');
    }
    times.sort((one, other) => one - other);
    return { isWhole, middle: times[times.length >> 1], most: times[Math.ceil(times.length * 0.99) - 1] };
  };
  // Other programs may need the processor meanwhile, so there are three tries.
  let found = await measure();
  for (let tries = 1; tries < 3 && found.most > mostMilliseconds; tries++) found = await measure();
  expect('signal(): its reason is the loss', found.isWhole);
  const figures = `p50 ${found.middle.toFixed(1)} ms, p99 ${found.most.toFixed(1)} ms`;
  const what = `signal(): a request ends when the cable is pulled, ${rounds} times within ${mostMilliseconds} ms`;
  expect(`${what} (${figures})`, found.most <= mostMilliseconds);

  await monitor.reachable(limit());
  let goesOn = true;
  const own = new AbortController();
  const asked = once(server.stdout, 'data');
  const request = ask(own.signal).then(() => (goesOn = false));
  await asked;
  cable.stdin.write('link set cable down\n');
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect('signal(): without it, the request would go on', goesOn);
  own.abort();
  await request;
  cable.stdin.end('link set cable up\n');
  await monitor.reachable(limit());
  monitor.close();
  server.kill('SIGKILL');
}

async function checkRequests() {
  const monitor = new Monitor();
  let told = change(monitor, 'request_began');
  const request = monitor.request('upload');
  expect('request(): is in flight', (await told).inFlight === 1);
  expect('request(): is visible after its delay', (await change(monitor, 'activation_delay')).visible);
  told = change(monitor, 'completion_delay');
  request.end();
  request.end();
  expect('request(): is hidden after its delay', !(await told).visible);
  expect('request(): a null character', () => thrown(() => monitor.request('a\0b')) instanceof TypeError);
  monitor.on('change', () => monitor.close());
  const closed = once(monitor, 'close');
  monitor.request();
  await closed;
  expect('close(): within a listener', monitor.closed);
}

function checkProcesses() {
  const unreferenced = run('new n.Monitor().unref()');
  expect('unref(): lets the process end', unreferenced.status === 0 && unreferenced.stderr === '');
  const again = run('new n.Monitor().unref().ref(); setTimeout(() => process.exit(3), 100)');
  expect('ref(): keeps it', again.status === 3);
  const forgotten = run('for (let i = 0; i < 50; i++) new n.Monitor().close(); setTimeout(() => global.gc?.(), 10)');
  expect('close(): lets the process end', forgotten.status === 0 && forgotten.stderr === '');
  const exited = run('new n.Monitor(); process.exit(4)');
  expect('exit(): with an open monitor', exited.status === 4 && exited.stderr === '');
  const uncaught = run("const m = new n.Monitor(); m.on('change', () => { throw new Error('mine'); }); m.request()");
  expect('a listener that throws: ends the process', uncaught.status === 1 && uncaught.stderr.includes('mine'));
  const caught = run(
    "process.on('uncaughtException', (e) => console.log(e.message)); const m = new n.Monitor(); " +
      "m.once('change', () => { throw new Error('mine'); }); m.on('change', (p) => p.visible && m.close()); m.request()",
  );
  expect('a listener that throws: nothing else is lost', caught.status === 0 && caught.stdout === 'mine\n');
}

async function checkWorkers() {
  const source = `const { parentPort } = require('node:worker_threads'); const n = require(${JSON.stringify(folder)});
    const m = new n.Monitor(); m.on('change', (p) => parentPort.postMessage(p.reason)); parentPort.postMessage(m.path.reason);`;
  const worker = new Worker(source, { eval: true });
  expect('worker: has the state', (await once(worker, 'message'))[0] === 'initial');
  const told = once(worker, 'message');
  execFileSync('pull');
  expect('worker: the cable is pulled', (await told)[0] === 'no_carrier');
  execFileSync('plug-in');
  await once(worker, 'message');
  expect('worker: can be ended', (await worker.terminate()) === 1);
}

/** Descriptors that are still there after the loop has closed what it closes. */
async function checkDescriptors() {
  const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  await settled();
  const before = fs.readdirSync('/proc/self/fd').length;
  for (let i = 0; i < 50; i++) {
    current();
    thrown(() => new Monitor({ hold: -1 }));
  }
  await settled();
  expect('descriptors: none is left open', fs.readdirSync('/proc/self/fd').length === before);
}

(async () => {
  checkState();
  checkErrors();
  await checkCable();
  await checkConditions();
  await checkLoss();
  await checkRequests();
  checkProcesses();
  await checkWorkers();
  await checkDescriptors();
  expect('the loop: nothing is left in it', true);
})().catch((error) => expect('all of it', () => { throw error; }));
