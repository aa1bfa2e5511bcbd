import * as v from 'valibot';
import { textFlag } from '../command/command.ts';
import { adminFlags } from '../daemon/daemon-flags.ts';
import type { Run } from './check.ts';

/** What `oriel doctor` examines. */
export const doctorFlags = v.strictObject({
  ...adminFlags.entries,
  only: textFlag('only these checks', 'names with commas'),
});

/** One check of `oriel doctor`. */
export interface Check {
  readonly name: string;
  /** What it examines, for the help. */
  readonly what: string;
  /** Seconds after which the report goes on without it; 30 by default. */
  readonly seconds?: number;
  /** Whether it runs before the others, which would slow down what it measures. */
  readonly isFirst?: boolean;
  /** Loads the code of its group. */
  readonly run: Run;
}

const machine = () => import('./machine.ts');
const folder = () => import('./folder.ts');
const configuration = () => import('./configuration.ts');
const store = () => import('./store.ts');
const services = () => import('./services.ts');

/** All checks, in the order of the report. */
export const CHECKS: readonly Check[] = [
  {
    name: 'versions',
    what: 'Oriel, the running daemon, Node, sharp, libvips',
    run: async (examined) => (await machine()).versions(examined),
  },
  {
    name: 'configuration',
    what: 'the file, as oriel config check',
    run: async (examined) => (await configuration()).configuration(examined),
  },
  {
    name: 'permissions',
    what: 'of the data folder, key files and the log file',
    run: async (examined) => (await folder()).permissions(examined),
  },
  {
    name: 'space',
    what: 'free space and files of the disk',
    run: async (examined) => (await folder()).space(examined),
  },
  {
    name: 'disk',
    what: 'its speed, and whether fsync keeps its promise',
    isFirst: true,
    run: async (examined) => (await folder()).disk(examined),
  },
  {
    name: 'clock',
    what: 'against a provider, and against itself',
    run: async (examined) => (await machine()).clock(examined),
  },
  {
    name: 'descriptors',
    what: 'the limit of open files and connections',
    run: async (examined) => (await machine()).descriptors(examined),
  },
  {
    name: 'memory',
    what: 'of the machine or container, against the settings',
    run: async (examined) => (await machine()).memory(examined),
  },
  {
    name: 'images',
    what: 'the image worker, and fonts for texts on images',
    run: async (examined) => (await machine()).images(examined),
  },
  {
    name: 'store',
    what: 'all sums of credits, as oriel store audit',
    seconds: 300,
    run: async (examined) => (await store()).audit(examined),
  },
  {
    name: 'postgresql',
    what: 'schema, connections, clock and latency',
    run: async (examined) => (await store()).database(examined),
  },
  {
    name: 's3',
    what: 'whether the bucket lists, stores and deletes',
    run: async (examined) => (await services()).bucket(examined),
  },
  {
    name: 'redis',
    what: 'whether the Redis of limits.shared runs scripts',
    run: async (examined) => (await services()).redis(examined),
  },
  {
    name: 'providers',
    what: 'each, as oriel providers test: one short answer',
    seconds: 120,
    run: async (examined) => (await import('./providers.ts')).providers(examined),
  },
  {
    name: 'public-url',
    what: 'whether it leads through the proxy to the daemon',
    run: async (examined) => (await services()).publicUrl(examined),
  },
  {
    name: 'callbacks',
    what: 'signatures, and addresses that clients may name',
    run: async (examined) => (await configuration()).callbacks(examined),
  },
];
