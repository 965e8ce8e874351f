'use strict';
// Tries the package beside a cable that the commands `pull` and `plug-in` take away and bring back: try.js FOLDER
// Prints a line for each expectation; the exit status is 1 if one is not met.
const { execFileSync, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const { Worker } = require('node:worker_threads');

const folder = process.argv[2];
const { Monitor, Status, current, version } = require(folder);
const patience = 30000;

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
  await checkRequests();
  checkProcesses();
  await checkWorkers();
  await checkDescriptors();
  expect('the loop: nothing is left in it', true);
})().catch((error) => expect('all of it', () => { throw error; }));
