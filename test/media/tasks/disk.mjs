// Loaded into a daemon before all else: a disk that is full, or fails, as ORIEL_TEST_DISK says from
// one moment to the next. It names a file of JSON: { "fails": ["assets/.*"], "code": "ENOSPC", "full": true }.
// Beside it, another file gets a byte for each failure. { "fails": […], "kills": 3 } lets such operations be, and kills
// the process before the third one.

import { appendFileSync, readFileSync } from 'node:fs';
import disk from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const { open, statfs, rm } = disk;
const WRITES = ['write', 'writeFile', 'appendFile', 'sync', 'datasync'];

function state() {
  try {
    return JSON.parse(readFileSync(process.env.ORIEL_TEST_DISK, 'utf8'));
  } catch {
    return {};
  }
}

let done = 0;

function check(path, operation) {
  const { fails = [], code = 'ENOSPC', kills } = state();
  if (!fails.some((pattern) => new RegExp(pattern).test(`${path} ${operation}`))) return;
  if (kills) {
    done += 1;
    if (done === kills) process.kill(process.pid, 'SIGKILL');
    return;
  }
  appendFileSync(`${process.env.ORIEL_TEST_DISK}.failures`, '.');
  throw Object.assign(new Error(`${code}: ${operation}`), { code });
}

disk.open = async (path, ...rest) => {
  check(path, 'open');
  const handle = await open(path, ...rest);
  for (const name of WRITES) {
    const usual = handle[name].bind(handle);
    handle[name] = async (...args) => {
      check(path, name);
      return usual(...args);
    };
  }
  return handle;
};
disk.rm = async (path, options) => {
  check(path, 'rm');
  return rm(path, options);
};
disk.statfs = async (...args) => {
  const real = await statfs(...args);
  return state().full ? { ...real, bavail: 0 } : real;
};
syncBuiltinESMExports();
