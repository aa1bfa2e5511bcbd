import { onTestFinished } from 'vitest';
import { startDaemon, type TestDaemon } from '../../daemon.ts';
import { temporaryFolder } from '../../oriel.ts';
import { Client } from './client.ts';
import { type MediaChanges, mediaConfig, type Providers, startProviders } from './media-daemon.ts';

const CLOCK = new URL('clock.mjs', import.meta.url).href;

/** One data directory that daemons go on with, one after another, at the same mocks. */
export interface Succession extends Providers {
  /** Starts the next daemon. @param clock milliseconds that its clock is wrong by */
  next(changes?: MediaChanges, clock?: number): Promise<{ daemon: TestDaemon; ann: Client }>;
}

export async function succession(usual: MediaChanges = {}): Promise<Succession> {
  const providers = await startProviders();
  onTestFinished(() => providers.close());
  const data = temporaryFolder();
  let ann: Client | undefined;
  return {
    ...providers,
    async next(changes = {}, clock = 0) {
      const daemon = await startDaemon({
        data,
        config: mediaConfig(providers, { ...usual, ...changes }),
        env: {
          ...(clock !== 0 && {
            NODE_OPTIONS: `--import=${CLOCK}`,
            ORIEL_TEST_CLOCK: String(clock),
          }),
        },
      });
      ann = ann?.at(daemon) ?? (await Client.of(daemon));
      return { daemon, ann };
    },
  };
}
