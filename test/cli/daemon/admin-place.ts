import { join } from 'node:path';
import { Writable } from 'node:stream';
import pino from 'pino';
import { expect, onTestFinished } from 'vitest';
import { startAdmin } from '../../../src/http/admin.ts';
import { openStore } from '../../../src/store/drivers/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { UNAUDITED } from '../../administration/unaudited.ts';
import { type Run, temporaryFolder } from '../../oriel.ts';
import type { residentCommand } from '../../resident.ts';

type Resident = ReturnType<typeof residentCommand>;

/** A data directory with administration commands that run in it. */
export interface AdminPlace<Printed> {
  readonly data: string;
  run(...args: string[]): Promise<Run>;
  /** The output of `--json`. */
  json(...args: string[]): Promise<Printed>;
  /** Reads the store directly. */
  look<Seen>(look: (store: Store) => Promise<Seen>): Promise<Seen>;
  /** The log of the daemon. */
  log(): string;
}

function placeAt<Printed>(
  resident: Resident,
  data: string,
  rest: Pick<AdminPlace<Printed>, 'look' | 'log'>,
): AdminPlace<Printed> {
  const run = (...args: string[]) => resident([...args, '--data', data]);
  return {
    data,
    run,
    async json(...args) {
      const { status, out, stderr } = await run(...args, '--json');
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(out).toMatch(/^\{.*\}\n$/);
      return JSON.parse(out) as Printed;
    },
    ...rest,
  };
}

/** A data directory without a daemon. */
async function alone<Printed>(resident: Resident): Promise<AdminPlace<Printed>> {
  const data = join(temporaryFolder(), 'data');
  return placeAt(resident, data, {
    log: () => '',
    async look(look) {
      const store = await openStore({ directory: join(data, 'store') });
      return look(store).finally(() => store.close());
    },
  });
}

/** A data directory of a daemon that runs in this process. */
async function served<Printed>(resident: Resident): Promise<AdminPlace<Printed>> {
  const data = join(temporaryFolder(), 'data');
  const store = await openStore({ directory: join(data, 'store') });
  let text = '';
  const log = pino(
    { level: 'trace' },
    new Writable({
      write(chunk, _encoding, done) {
        text += String(chunk);
        done();
      },
    }),
  );
  const admin = await startAdmin({
    place: 'lowdb',
    ...UNAUDITED,
    store,
    directory: data,
    log,
    models: () => ['sandbox-chat'],
  });
  onTestFinished(async () => {
    await admin.close();
    await store.close();
  });
  return placeAt(resident, data, { log: () => text, look: (look) => look(store) });
}

/** A data directory without a daemon, and one of a daemon. `Printed` is the JSON of any command. */
export function adminPlaces<Printed>(resident: Resident) {
  return [
    ['without a daemon', () => alone<Printed>(resident)],
    ['through the daemon', () => served<Printed>(resident)],
  ] as const;
}
