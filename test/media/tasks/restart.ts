import { existsSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { startDaemon, type TestDaemon } from '../../daemon.ts';
import { temporaryFolder } from '../../oriel.ts';
import { Client } from './client.ts';
import { type MediaChanges, mediaConfig, type Providers, startProviders } from './media-daemon.ts';

const CLOCK = new URL('clock.mjs', import.meta.url).href;
const DISK = new URL('disk.mjs', import.meta.url).href;

/** What a disk does from now on. */
export interface DiskState {
  /** Patterns of paths, each followed by a space and what is done to it, that fail. */
  readonly fails?: readonly string[];
  /** What the system says then: ENOSPC unless said. */
  readonly code?: string;
  /** Which of these operations, counted from 1, kills the process in place of a failure. */
  readonly kills?: number;
  /** Whether the disk reports no free space. */
  readonly full?: boolean;
}

/** One data directory that daemons go on with, one after another, at the same mocks. */
export interface Succession extends Providers {
  /** Starts the next daemon. @param clock milliseconds that its clock is wrong by */
  next(changes?: MediaChanges, clock?: number): Promise<{ daemon: TestDaemon; ann: Client }>;
  disk(state: DiskState): void;
  /** Resolves when so many further operations on the disk have failed. */
  diskFailures(count: number): Promise<void>;
}

/** A disk that fails as a test says. */
export interface TestDisk {
  /** Environment of the daemons that have it. */
  readonly env: { readonly NODE_OPTIONS: string; readonly ORIEL_TEST_DISK: string };
  set(state: DiskState): void;
  /** Resolves when so many further operations have failed. */
  failures(count: number): Promise<void>;
}

/** @param file holds its state */
export function testDisk(file: string): TestDisk {
  const size = () => (existsSync(`${file}.failures`) ? statSync(`${file}.failures`).size : 0);
  return {
    env: { NODE_OPTIONS: `--import=${DISK}`, ORIEL_TEST_DISK: file },
    set(state) {
      // Whole or not at all: a daemon reads it at any moment.
      writeFileSync(`${file}.new`, JSON.stringify(state));
      renameSync(`${file}.new`, file);
    },
    async failures(count) {
      const before = size();
      await expect.poll(size).toBeGreaterThanOrEqual(before + count);
    },
  };
}

export async function succession(usual: MediaChanges = {}): Promise<Succession> {
  const providers = await startProviders();
  onTestFinished(() => providers.close());
  const data = temporaryFolder();
  const { env, set: disk, failures: diskFailures } = testDisk(join(temporaryFolder(), 'disk.json'));
  let ann: Client | undefined;
  return {
    ...providers,
    disk,
    diskFailures,
    async next(changes = {}, clock = 0) {
      const daemon = await startDaemon({
        data,
        config: mediaConfig(providers, { ...usual, ...changes }),
        env: {
          ...env,
          ...(clock !== 0 && { NODE_OPTIONS: `${env.NODE_OPTIONS} --import=${CLOCK}` }),
          ORIEL_TEST_CLOCK: String(clock),
        },
      });
      ann = ann?.at(daemon) ?? (await Client.of(daemon));
      return { daemon, ann };
    },
  };
}

/** A succession whose first daemon runs. */
export async function started(usual: MediaChanges = {}) {
  const opened = await succession(usual);
  return { ...opened, ...(await opened.next()) };
}
