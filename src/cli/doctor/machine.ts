import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { totalmem } from 'node:os';
import { performance } from 'node:perf_hooks';
import * as v from 'valibot';
import { isRemote } from '../../config/providers/provider-kinds.ts';
import { valueOr } from '../../flow.ts';
import { defaultMaxConnections, descriptorLimit } from '../../http/transport/connections.ts';
import { DEFAULT_LIMITS } from '../../images/limits.ts';
import { isProgramFormat } from '../../images/program-formats.ts';
import { supportedFormats } from '../../images/programs/support.ts';
import { sharpPackages } from '../../operations/cache/result-keys.ts';
import { containerMemory } from '../../operations/pool/pool.ts';
import { startSharedPool } from '../../operations/pool/shared-pool.ts';
import { findOperation } from '../../operations/registry.ts';
import { NetworkPolicy } from '../../upstream/network-policy.ts';
import { humanBytes } from '../terminal/terminal.ts';
import { configured, type Examined, failed, judged, ok, type Run, skipped } from './check.ts';

const parts = (version: string) => version.replace(/^\D+/, '').split('.').map(Number);

function isOlder(version: string, needed: string): boolean {
  const [[major = 0, minor = 0], [least = 0, minorLeast = 0]] = [parts(version), parts(needed)];
  return major < least || (major === least && minor < minorLeast);
}

export const versions: Run = async ({ version, daemon }) => {
  const file = createRequire(import.meta.url).resolve('oriel/package.json');
  const { engines } = JSON.parse(readFileSync(file, 'utf8')) as { engines: { node: string } };
  const { version: sharp, codecs } = sharpPackages();
  const [vips] = codecs.map(([, text]) => /"vips": *"([\d.]+)"/.exec(text)?.[1]).filter(Boolean);
  const libvips = vips === undefined ? '' : ` (libvips ${vips})`;
  const text = `oriel ${version}, Node ${process.version.slice(1)}, sharp ${sharp}${libvips}`;
  if (isOlder(process.version, engines.node)) {
    return failed(text, `Install Node ${engines.node.replace('>=', '')} or newer.`);
  }
  const isOther = daemon?.version != null && daemon.version !== version;
  const other = isOther ? `; the daemon that runs is ${daemon.version}` : '';
  return judged(text + other, { warns: isOther }, 'Restart the daemon to run this version.');
};

/** Text with an accent and a dash, as captions have them. */
const SAMPLE = 'Captions — déjà vu 2027';

export const images: Run = async () => {
  const pool = startSharedPool({ threads: 1 });
  try {
    const { options } = findOperation('overlay')!;
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="60"/>';
    const result = await pool.run({
      operation: 'overlay',
      options: v.parse(options as v.GenericSchema, { text: SAMPLE, size: 20, format: 'png' }),
      source: { bytes: Buffer.from(svg) },
      limits: { ...DEFAULT_LIMITS, svg: true },
    });
    const install = 'Install fonts, such as the Debian packages fonts-dejavu-core and fontconfig.';
    if (result.ok) {
      const [missing] = result.warnings;
      const text = missing?.message ?? 'a text was drawn on an image';
      return judged(text, { warns: missing !== undefined }, install);
    }
    const { code, message } = result.error;
    if (code === 'font_not_found') return judged(message, { warns: true }, install);
    return failed(message, 'Run npm ci in the folder of Oriel, so that sharp fits this machine.');
  } finally {
    await pool.close();
  }
};

/** Programs that are not installed are no fault: their formats are optional. */
export const programs: Run = configured(async ({ batch }) => {
  if (!batch.programs) return skipped('batch.programs is off');
  const formats = supportedFormats().filter(({ format }) => isProgramFormat(format));
  return formats.map(({ format, read, missing }) => ok(`${format}: ${missing ?? read}`));
});

/** Connections below which a daemon serves few clients. */
const FEW_CONNECTIONS = 1000;

export const descriptors: Run = async ({ daemon, config }) => {
  const limit = descriptorLimit(daemon?.pid) ?? descriptorLimit();
  if (limit === null) return skipped('this system does not tell its limit of descriptors');
  const fitting = defaultMaxConnections(limit);
  const wanted = config?.server.maxConnections;
  return judged(
    `${limit} open files, enough for ${wanted ?? fitting} connections`.replace(
      'enough',
      (wanted ?? 0) > fitting ? 'too few' : 'enough',
    ),
    { warns: (wanted ?? 0) > fitting || fitting < FEW_CONNECTIONS, fails: fitting < 50 },
    'Raise the limit: LimitNOFILE=65536 in the systemd unit, or ulimit -n 65536.',
  );
};

/** The limit of the control group of another process; infinite without one. */
function memoryOf(pid: number): number {
  return valueOr(() => {
    const [, path] = /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))!;
    const limit = Number(readFileSync(`/sys/fs/cgroup${path}/memory.max`, 'utf8'));
    return Number.isNaN(limit) ? Number.POSITIVE_INFINITY : limit;
  }, Number.POSITIVE_INFINITY);
}

/** Bytes with which a daemon starts, and serves text and small images. */
const LITTLE_MEMORY = 512e6;

export const memory: Run = configured(async ({ overload, pool }, { daemon }) => {
  const available = daemon ? Math.min(memoryOf(daemon.pid), totalmem()) : containerMemory();
  const settings = { 'overload.memory': overload.memory, 'pool.memory': pool.memory };
  const [large] = Object.entries(settings).filter(([, bytes = 0]) => bytes > available);
  const text = `${humanBytes(available)}${large ? `, less than ${large[0]} (${humanBytes(large[1]!)})` : ''}`;
  const remedy = large
    ? `Lower ${large[0]}: the kernel kills the daemon before it reaches it.`
    : 'Give the container or machine 1 GB, or lower pool.memory and pool.threads.';
  return judged(text, { fails: large !== undefined, warns: available < LITTLE_MEMORY }, remedy);
});

/** Seconds of skew: signatures of S3 fail beyond 15 minutes, those of callbacks beyond 5. */
const SKEW_WARNING = 10;
const SKEW_FAILURE = 300;

/** Milliseconds by which the wall clock may run away from the monotonic one within a check. */
const STEP_MS = 250;

export const clock: Run = async (examined) => {
  const origin = performance.timeOrigin + performance.now() - Date.now();
  const skew = await Promise.any(datesOf(examined)).catch(() => null);
  const step = Math.abs(performance.timeOrigin + performance.now() - Date.now() - origin);
  const remedy = 'Synchronise the clock by NTP: timedatectl set-ntp true.';
  if (step > STEP_MS) return failed(`the clock jumped by ${Math.round(step)} ms`, remedy);
  if (skew === null) return skipped('no provider on the network to compare the clock with');
  const text = `${Math.abs(skew).toFixed(0)} s from the clock of a provider`;
  const [fails, warns] = [SKEW_FAILURE, SKEW_WARNING].map((limit) => Math.abs(skew) > limit);
  return judged(text, { fails: fails!, warns: warns! }, remedy);
};

/** Seconds by which this clock is ahead of each provider's `Date`, which has whole seconds. */
function datesOf({ config, network }: Examined): Promise<number>[] {
  if (config === null) return [];
  const { providers, network: settings } = config;
  const networkPolicy = new NetworkPolicy({ ...settings, allowPrivateAddresses: true });
  return Object.values(providers)
    .filter(isRemote)
    .map(async ({ baseUrl, proxy }) => {
      const began = Date.now();
      const response = await network.open(baseUrl, {
        method: 'GET',
        headers: {},
        timeouts: { connect: 5000, firstByte: 0, idle: 0, total: 10_000 },
        ...(proxy === undefined ? { networkPolicy } : { proxy }),
        signal: new AbortController().signal,
      });
      response.abort();
      const date = Date.parse(response.headers['date'] ?? '');
      if (Number.isNaN(date)) throw new Error('no date');
      return ((began + Date.now()) / 2 - date - 500) / 1000;
    });
}
