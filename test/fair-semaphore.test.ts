import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FairSemaphore, type Release } from '../src/fair-semaphore.ts';

/** Callers of a semaphore, in the order in which they acquired a permit. */
class Callers {
  readonly holding: {
    readonly client: string;
    readonly name: string;
    readonly release: Release;
  }[] = [];
  readonly served: string[] = [];
  readonly rejected: string[] = [];
  readonly #semaphore: FairSemaphore;

  constructor(semaphore: FairSemaphore) {
    this.#semaphore = semaphore;
  }

  async call(client: string, name: string, signal?: AbortSignal): Promise<void> {
    const call = this.#semaphore.acquire(client, signal).then(
      (release) => {
        this.served.push(name);
        this.holding.push({ client, name, release });
      },
      () => {
        this.rejected.push(name);
      },
    );
    await Promise.race([call, settled()]);
  }

  async release(index: number): Promise<void> {
    const [caller] = this.holding.splice(index, 1);
    caller!.release();
    await settled();
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await null;
}

async function callOften(callers: Callers, client: string, count: number): Promise<void> {
  for (let number = 1; number <= count; number += 1) {
    await callers.call(client, `${client}${number}`);
  }
}

describe('a fair semaphore', () => {
  test.each([1, 2, 3])(
    'of %i permits: a new client waits for one release, not for the queue of another client',
    async (count) => {
      const callers = new Callers(new FairSemaphore(count));
      await callOften(callers, 'a', 20);
      await callOften(callers, 'b', 1);
      await callers.release(0);
      expect(callers.served.at(-1)).toBe('b1');
    },
  );

  test('with one permit serves clients by turns', async () => {
    const callers = new Callers(new FairSemaphore(1));
    for (const client of ['a', 'b', 'c']) await callOften(callers, client, 3);
    while (callers.holding.length > 0) await callers.release(0);
    expect(callers.served.join(' ')).toBe('a1 b1 c1 a2 b2 c2 a3 b3 c3');
  });

  test('does not starve a queue by clients that call one at a time', async () => {
    const callers = new Callers(new FairSemaphore(1));
    await callOften(callers, 'a', 4);
    for (let round = 1; round <= 6; round += 1) {
      await callers.call('b', `b${round}`);
      await callers.call('c', `c${round}`);
      await callers.release(0);
    }
    expect(callers.served.filter((name) => name.startsWith('a')).length).toBeGreaterThanOrEqual(3);
  });

  test('counts a release that is called twice once', async () => {
    const semaphore = new FairSemaphore(1);
    const release = await semaphore.acquire('a');
    release();
    release();
    expect(semaphore.acquired).toBe(0);
  });

  test('rejects a call whose signal is aborted already', async () => {
    const semaphore = new FairSemaphore(1);
    await expect(semaphore.acquire('a', AbortSignal.abort('gone'))).rejects.toBe('gone');
    expect([semaphore.acquired, semaphore.waiting]).toEqual([0, 0]);
  });
});

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ does: fc.constant('call' as const), who: fc.nat(3) }) },
    { weight: 3, arbitrary: fc.record({ does: fc.constant('release' as const), who: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('abort' as const), who: fc.nat(9) }) },
  ),
  { maxLength: 80 },
);

test('any order of calls, releases and aborts keeps the order within a client and loses no call', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (count, script) => {
      const semaphore = new FairSemaphore(count);
      const callers = new Callers(semaphore);
      const waiting = new Map<string, AbortController>();
      const called: string[] = [];
      const aborted: string[] = [];
      for (const { does, who } of script) {
        if (does === 'call') {
          const name = `${'abcd'[who]}${called.length}`;
          const stop = new AbortController();
          called.push(name);
          waiting.set(name, stop);
          await callers.call(name[0]!, name, stop.signal);
        } else if (does === 'release' && callers.holding.length > 0) {
          await callers.release(who % callers.holding.length);
        } else if (does === 'abort' && waiting.size > 0) {
          const [name, stop] = [...waiting][who % waiting.size]!;
          stop.abort();
          aborted.push(name);
          waiting.delete(name);
          await settled();
        }
        for (const name of callers.served) waiting.delete(name);
        expect(semaphore.acquired).toBe(callers.holding.length);
        expect(semaphore.waiting).toBe(waiting.size);
        // No permit is free while a caller waits.
        if (waiting.size > 0) expect(semaphore.acquired).toBe(count);
      }
      while (callers.holding.length > 0) await callers.release(0);
      expect(callers.rejected.toSorted()).toEqual(aborted.toSorted());
      expect([...callers.served, ...callers.rejected].toSorted()).toEqual(called.toSorted());
      for (const client of 'abcd') {
        const own = (names: readonly string[]) => names.filter((name) => name[0] === client);
        const order = own(called).filter((name) => !aborted.includes(name));
        expect(own(callers.served)).toEqual(order);
      }
      expect([semaphore.acquired, semaphore.waiting]).toEqual([0, 0]);
    }),
  );
});

test('any mix of sizes and clients stays within the limits, and every call is served', async () => {
  const request = fc.record({ who: fc.nat(2), bytes: fc.integer({ min: 1, max: 100 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 40 }), fc.nat(9), async (requests, seed) => {
      const semaphore = new FairSemaphore(4, {
        permitsPerClient: 3,
        bytes: 100,
        bytesPerClient: 75,
      });
      const holding: { readonly who: number; readonly bytes: number; readonly release: Release }[] =
        [];
      let served = 0;
      for (const { who, bytes } of requests) {
        void semaphore.acquire(`${who}`, undefined, bytes).then((release) => {
          served += 1;
          holding.push({ who, bytes, release });
        });
      }
      await settled();
      for (let turn = seed; holding.length > 0; turn += 1) {
        const sum = (all: typeof holding) => all.reduce((total, { bytes }) => total + bytes, 0);
        expect(sum(holding)).toBeLessThanOrEqual(100);
        for (const client of [0, 1, 2]) {
          const own = holding.filter(({ who }) => who === client);
          expect(own.length).toBeLessThanOrEqual(3);
          if (own.length > 1) expect(sum(own)).toBeLessThanOrEqual(75);
        }
        const [first] = holding.splice(turn % holding.length, 1);
        first!.release();
        await settled();
      }
      expect(served).toBe(requests.length);
      expect([semaphore.acquired, semaphore.waiting]).toEqual([0, 0]);
    }),
  );
});
