import * as v from 'valibot';
import { textFlag } from '../command/command.ts';
import { adminFlags } from '../daemon/daemon-flags.ts';
import type { Run } from './check.ts';

/** What `oriel doctor` examines. */
export const doctorFlags = v.strictObject({
  ...adminFlags.entries,
  only: textFlag('only these checks', 'names, separated by commas'),
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
const providers = () => import('./providers.ts');

/** A check that a module has, which is loaded when it runs. */
function from<Name extends string>(
  load: () => Promise<Readonly<Record<Name, Run>>>,
  name: Name,
): Run {
  return async (examined) => (await load())[name](examined);
}

type Row = readonly [
  ...[name: string, what: string, run: Run],
  rest?: Pick<Check, 'seconds' | 'isFirst'>,
];

/** All checks, in the order of the report. */
const ROWS: readonly Row[] = [
  ['versions', 'Oriel, the running daemon, Node, sharp, libvips', from(machine, 'versions')],
  ['configuration', 'the file, as oriel config check', from(configuration, 'configuration')],
  ['permissions', 'of the data folder, key files and the log file', from(folder, 'permissions')],
  ['space', 'free space and files of the disk', from(folder, 'space')],
  [
    'disk',
    'its speed, and whether fsync keeps its promise',
    from(folder, 'disk'),
    { isFirst: true },
  ],
  ['clock', 'against a provider, and against itself', from(machine, 'clock')],
  ['descriptors', 'the limit of open files and connections', from(machine, 'descriptors')],
  ['memory', 'of the machine or container, against the settings', from(machine, 'memory')],
  ['images', 'the image worker, and fonts for texts on images', from(machine, 'images')],
  ['programs', 'for HEIC, JPEG XL, camera raw and PDF', from(machine, 'programs')],
  ['store', 'all sums of credits, as oriel store audit', from(store, 'audit'), { seconds: 300 }],
  ['postgresql', 'schema, connections, clock and latency', from(store, 'database')],
  ['s3', 'whether the bucket lists, stores and deletes', from(services, 'bucket')],
  ['redis', 'whether the Redis of limits.shared runs scripts', from(services, 'redis')],
  [
    'providers',
    'each, as oriel providers test: one short answer',
    from(providers, 'providers'),
    { seconds: 120 },
  ],
  ['public-url', 'whether it leads through the proxy to the daemon', from(services, 'publicUrl')],
  [
    'callbacks',
    'signatures, and addresses that clients may name',
    from(configuration, 'callbacks'),
  ],
];

export const CHECKS: readonly Check[] = ROWS.map(([name, what, run, rest]) => {
  return { name, what, run, ...rest };
});
