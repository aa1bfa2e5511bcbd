import { existsSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { startDaemon, type TestDaemon } from '../../daemon.ts';
import { temporaryFolder } from '../../oriel.ts';
import { Client } from './client.ts';
import { type MediaChanges, mediaConfig, type Providers, startProviders } from './media-daemon.ts';

const CLOCK = new URL('clock.mjs', import.meta.url).href;
const DISK = new URL('disk.mjs', import.meta.url).href;

/** What the disk of a succession does from now on. */
export interface DiskState {
  /** Patterns of paths, each followed by a space and what is done to it, that fail. */
  readonly fails?: readonly string[];
  /** What the system says then: ENOSPC unless said. */
  readonly code?: string;
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

export async function succession(usual: MediaChanges = {}): Promise<Succession> {
  const providers = await startProviders();
  onTestFinished(() => providers.close());
  const data = temporaryFolder();
  const diskState = join(temporaryFolder(), 'disk.json');
  let ann: Client | undefined;
  return {
    ...providers,
    async next(changes = {}, clock = 0) {
      const daemon = await startDaemon({
        data,
        config: mediaConfig(providers, { ...usual, ...changes }),
        env: {
          NODE_OPTIONS: [DISK, ...(clock === 0 ? [] : [CLOCK])]
            .map((url) => `--import=${url}`)
            .join(' '),
          ORIEL_TEST_DISK: diskState,
          ORIEL_TEST_CLOCK: String(clock),
        },
      });
      ann = ann?.at(daemon) ?? (await Client.of(daemon));
      return { daemon, ann };
    },
    async diskFailures(count) {
      const failures = () =>
        existsSync(`${diskState}.failures`) ? statSync(`${diskState}.failures`).size : 0;
      const before = failures();
      await expect.poll(failures, { timeout: 30_000 }).toBeGreaterThanOrEqual(before + count);
    },
    disk(state) {
      // Whole or not at all: a daemon reads it at any moment.
      writeFileSync(`${diskState}.new`, JSON.stringify(state));
      renameSync(`${diskState}.new`, diskState);
    },
  };
}
