// This file is compiled, not run: index.d.ts has to accept correct uses and to refuse wrong ones.
import { Monitor, NetworkLost, Path, Status, current, version } from 'libnetwatch';

const path: Path = current({ interface: ['wl*'], hold: 2, linkLocal: true, target: undefined });
const status: -1 | 0 | 1 | 2 = path.status;
if (path.status === Status.wifi) console.log(path.medium === 'wired', version.length, status);

const monitor = new Monitor();
monitor.on('change', (changed) => console.log(changed.inFlight.toFixed())).on('error', (error) => console.log(error.code));
monitor.once('close', () => {});
monitor.request('upload').end();
const isCheap: boolean = monitor.holds('wifi', 'unmetered');
const controller = new AbortController();
monitor.reachable({ signal: controller.signal }).then((reached) => console.log(reached.description, isCheap, reached.rttMs));
monitor.waitUntil(['wifi', 'not-vpn']).then((reached) => console.log(reached.internet === 'full', reached.networkId));
const reason: unknown = monitor.signal().reason;
if (reason instanceof NetworkLost) console.log(reason.code === 'ENETUNREACH', reason.path.reason);
new Monitor({ probe: 'http://192.0.2.1/', stages: true, quality: true, traffic: true, signal: 'steps', networkId: true });
monitor.unref().ref().close();

// @ts-expect-error
monitor.on('changed', () => {});
// @ts-expect-error
new Monitor({ colour: 'red' });
// @ts-expect-error
new Monitor({ signal: controller.signal });
// @ts-expect-error
path.status = 1;
