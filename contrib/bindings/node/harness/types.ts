// This file is compiled, not run: index.d.ts has to accept correct uses and to refuse wrong ones.
import { Monitor, Path, Status, current, version } from 'libnetwatch';

const path: Path = current({ interface: ['wl*'], hold: 2, linkLocal: true, target: undefined });
const status: -1 | 0 | 1 | 2 = path.status;
if (path.status === Status.wifi) console.log(path.medium === 'wired', version.length, status);

const monitor = new Monitor();
monitor.on('change', (changed) => console.log(changed.inFlight.toFixed())).on('error', (error) => console.log(error.code));
monitor.once('close', () => {});
monitor.request('upload').end();
monitor.unref().ref().close();

// @ts-expect-error
monitor.on('changed', () => {});
// @ts-expect-error
new Monitor({ colour: 'red' });
// @ts-expect-error
path.status = 1;
