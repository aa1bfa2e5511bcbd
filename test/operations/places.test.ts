import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Leave, Places } from '../../src/operations/places.ts';

/** Everybody who asked for a place, in the order in which they got one. */
class Visitors {
  readonly inside: { readonly client: string; readonly name: string; readonly leave: Leave }[] = [];
  readonly served: string[] = [];
  readonly sentAway: string[] = [];
  readonly #places: Places;

  constructor(places: Places) {
    this.#places = places;
  }

  async arrive(client: string, name: string, signal?: AbortSignal): Promise<void> {
    const arrival = this.#places.take(client, signal).then(
      (leave) => {
        this.served.push(name);
        this.inside.push({ client, name, leave });
      },
      () => {
        this.sentAway.push(name);
      },
    );
    await Promise.race([arrival, settled()]);
  }

  async leave(index: number): Promise<void> {
    const [visitor] = this.inside.splice(index, 1);
    visitor!.leave();
    await settled();
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await null;
}

async function arriveAll(visitors: Visitors, client: string, count: number): Promise<void> {
  for (let number = 1; number <= count; number += 1) {
    await visitors.arrive(client, `${client}${number}`);
  }
}

describe('places', () => {
  test.each([1, 2, 3])(
    '%i of them: a newcomer waits for one to fall free, for no queue',
    async (count) => {
      const visitors = new Visitors(new Places(count));
      await arriveAll(visitors, 'a', 20);
      await arriveAll(visitors, 'b', 1);
      await visitors.leave(0);
      expect(visitors.served.at(-1)).toBe('b1');
    },
  );

  test('are shared by turns where there is one only', async () => {
    const visitors = new Visitors(new Places(1));
    for (const client of ['a', 'b', 'c']) await arriveAll(visitors, client, 3);
    while (visitors.inside.length > 0) await visitors.leave(0);
    expect(visitors.served.join(' ')).toBe('a1 b1 c1 a2 b2 c2 a3 b3 c3');
  });

  test('do not starve a queue by newcomers that ask one at a time', async () => {
    const visitors = new Visitors(new Places(1));
    await arriveAll(visitors, 'a', 4);
    for (let round = 1; round <= 6; round += 1) {
      await visitors.arrive('b', `b${round}`);
      await visitors.arrive('c', `c${round}`);
      await visitors.leave(0);
    }
    expect(visitors.served.filter((name) => name.startsWith('a')).length).toBeGreaterThanOrEqual(3);
  });

  test('given back twice are given back once', async () => {
    const places = new Places(1);
    const leave = await places.take('a');
    leave();
    leave();
    expect(places.taken).toBe(0);
  });

  test('are not given to whom comes with an aborted signal', async () => {
    const places = new Places(1);
    await expect(places.take('a', AbortSignal.abort('gone'))).rejects.toBe('gone');
    expect([places.taken, places.waiting]).toEqual([0, 0]);
  });
});

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ does: fc.constant('arrive' as const), who: fc.nat(3) }) },
    { weight: 3, arbitrary: fc.record({ does: fc.constant('leave' as const), who: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('abort' as const), who: fc.nat(9) }) },
  ),
  { maxLength: 80 },
);

test('whatever happens, nobody is lost, overtaken by the own client, or let in once gone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (count, script) => {
      const places = new Places(count);
      const visitors = new Visitors(places);
      const waiting = new Map<string, AbortController>();
      const arrived: string[] = [];
      const aborted: string[] = [];
      for (const { does, who } of script) {
        if (does === 'arrive') {
          const name = `${'abcd'[who]}${arrived.length}`;
          const stop = new AbortController();
          arrived.push(name);
          waiting.set(name, stop);
          await visitors.arrive(name[0]!, name, stop.signal);
        } else if (does === 'leave' && visitors.inside.length > 0) {
          await visitors.leave(who % visitors.inside.length);
        } else if (does === 'abort' && waiting.size > 0) {
          const [name, stop] = [...waiting][who % waiting.size]!;
          stop.abort();
          aborted.push(name);
          waiting.delete(name);
          await settled();
        }
        for (const name of visitors.served) waiting.delete(name);
        expect(places.taken).toBe(visitors.inside.length);
        expect(places.waiting).toBe(waiting.size);
        // No place is empty while somebody waits.
        if (waiting.size > 0) expect(places.taken).toBe(count);
      }
      while (visitors.inside.length > 0) await visitors.leave(0);
      expect(visitors.sentAway.toSorted()).toEqual(aborted.toSorted());
      expect([...visitors.served, ...visitors.sentAway].toSorted()).toEqual(arrived.toSorted());
      for (const client of 'abcd') {
        const own = (names: readonly string[]) => names.filter((name) => name[0] === client);
        const order = own(arrived).filter((name) => !aborted.includes(name));
        expect(own(visitors.served)).toEqual(order);
      }
      expect([places.taken, places.waiting]).toEqual([0, 0]);
    }),
  );
});

test('no mix of sizes and clients goes beyond the shares, and everybody is served', async () => {
  const request = fc.record({ who: fc.nat(2), bytes: fc.integer({ min: 1, max: 100 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 40 }), fc.nat(9), async (requests, seed) => {
      const places = new Places(4, { places: 3, bytes: 100, bytesOfOne: 75 });
      const inside: { readonly who: number; readonly bytes: number; readonly leave: Leave }[] = [];
      let served = 0;
      for (const { who, bytes } of requests) {
        void places.take(`${who}`, undefined, bytes).then((leave) => {
          served += 1;
          inside.push({ who, bytes, leave });
        });
      }
      await settled();
      for (let turn = seed; inside.length > 0; turn += 1) {
        const sum = (all: typeof inside) => all.reduce((total, { bytes }) => total + bytes, 0);
        expect(sum(inside)).toBeLessThanOrEqual(100);
        for (const client of [0, 1, 2]) {
          const own = inside.filter(({ who }) => who === client);
          expect(own.length).toBeLessThanOrEqual(3);
          if (own.length > 1) expect(sum(own)).toBeLessThanOrEqual(75);
        }
        const [left] = inside.splice(turn % inside.length, 1);
        left!.leave();
        await settled();
      }
      expect(served).toBe(requests.length);
      expect([places.taken, places.waiting]).toEqual([0, 0]);
    }),
  );
});
