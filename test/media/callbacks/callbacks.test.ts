import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Callbacks } from '../../../src/media/callbacks/callbacks.ts';
import { UpstreamClient } from '../../../src/upstream/client.ts';
import type { UpstreamRequest } from '../../../src/upstream/request.ts';
import { networkSettings } from '../../upstream/policies.ts';
import { type Reply, WebhookReceiver } from '../webhook-receiver.ts';
import { Deliveries, ENDED } from './deliveries.ts';

async function receiving(reply?: WebhookReceiver['reply']): Promise<WebhookReceiver> {
  const receiver = await WebhookReceiver.open(reply);
  onTestFinished(() => receiver.close());
  return receiver;
}

type Options = ConstructorParameters<typeof Callbacks>[0];

interface Changes extends Partial<Options> {
  readonly allowPrivateAddresses?: boolean;
  readonly callbackPorts?: readonly string[];
  /** The clock of the store. */
  readonly now?: () => number;
}

const record = ({ id, status }: { id: string; status: string }) => ({ task_id: id, status });

const OVERLAP = 60_000;

/** A deliverer that tries again at once, four times in all. */
function callbacks(
  store: Deliveries,
  { allowPrivateAddresses = true, callbackPorts = ['1-65535'], now, ...changes }: Changes = {},
) {
  const upstream = new UpstreamClient();
  if (now) store.clock = now;
  const made = new Callbacks({
    store,
    upstream,
    config: () => ({
      network: networkSettings({ allowPrivateAddresses, callbackPorts }),
      callbacks: { secretOverlap: OVERLAP },
    }),
    record,
    onFault: (error) => {
      throw error;
    },
    backoff: (tries) => (tries < 4 ? 0 : null),
    ...changes,
  });
  onTestFinished(async () => {
    await made.close();
    await upstream.close();
  });
  return made;
}

/** A receiver, and the ended task whose callback goes there. */
async function setUp(reply?: WebhookReceiver['reply']) {
  const receiver = await receiving(reply);
  const store = new Deliveries();
  return { receiver, store, task: store.add(receiver.url) };
}

const inTurn =
  (...replies: readonly Reply[]) =>
  (nth: number): Reply =>
    replies[Math.min(nth, replies.length) - 1]!;

const answered = (status: number): Reply => ({ status });

describe('a callback', () => {
  it.each(['completed', 'failed', 'expired'] as const)(
    'is sent for a task that %s',
    async (status) => {
      const receiver = await receiving();
      const store = new Deliveries();
      const task = store.add(receiver.url, { status });
      const onAttempt = vi.fn();
      const deliverer = callbacks(store, { onAttempt });
      deliverer.added(task);
      const delivery = await store.ended(task);
      await deliverer.close();

      const [received, ...more] = receiver.received;
      expect(more).toEqual([]);
      expect(WebhookReceiver.verified(store.secretOf(), received!)).toEqual({
        type: `task.${status}`,
        timestamp: '2026-11-21T12:00:00.000Z',
        data: { task_id: task.id, status },
      });
      expect(received).toMatchObject({
        method: 'POST',
        path: '/hook',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Oriel',
          'webhook-id': delivery.id,
        },
      });
      const attempt = { at: expect.any(Number), status: 204, error: null };
      expect(delivery).toMatchObject({ status: 'delivered', nextAt: null, attempts: [attempt] });
      expect(onAttempt.mock.calls).toEqual([[delivery, delivery.attempts[0]]]);
    },
  );

  it('is signed with the secret of its account only', async () => {
    const receiver = await receiving();
    const store = new Deliveries();
    const tasks = ['acct_1', 'acct_2'].map((accountId) => store.add(receiver.url, { accountId }));
    const deliverer = callbacks(store);
    for (const task of tasks) deliverer.added(task);
    for (const task of tasks) await store.ended(task);
    const mine = receiver.received.find(({ body }) => body.includes('task_1'))!;
    expect(() => WebhookReceiver.verified(store.secretOf('acct_1'), mine)).not.toThrow();
    expect(() => WebhookReceiver.verified(store.secretOf('acct_2'), mine)).toThrow();
  });

  it('has the same body and id at every attempt, and a new signature', async () => {
    let now = Date.now() - 100_000;
    const { receiver, store, task } = await setUp(inTurn(answered(500), 'hangs up', answered(200)));
    callbacks(store, {
      now: () => {
        now += 10_000;
        return now;
      },
    }).added(task);
    const { attempts, id } = await store.ended(task);
    expect(receiver.received).toHaveLength(3);
    for (const received of receiver.received) {
      expect(received.body).toBe(receiver.received[0]!.body);
      expect(received.headers['webhook-id']).toBe(id);
      expect(WebhookReceiver.verified(store.secretOf(), received)).toMatchObject({});
    }
    const of = (header: string) => receiver.received.map(({ headers }) => headers[header]);
    expect(new Set(of('webhook-timestamp')).size).toBe(3);
    expect(new Set(of('webhook-signature')).size).toBe(3);
    expect(attempts).toMatchObject([
      { status: 500, error: 'the receiver answered 500' },
      { status: null, error: expect.stringContaining('went away before it answered') },
      { status: 200, error: null },
    ]);
  });

  it('fails after the last attempt', async () => {
    const { receiver, store, task } = await setUp(inTurn(answered(503)));
    callbacks(store).added(task);
    expect(await store.ended(task)).toMatchObject({ status: 'failed', nextAt: null });
    expect(receiver.received).toHaveLength(4);
  });

  it('follows no redirect', async () => {
    const other = await receiving();
    const { store, task } = await setUp(() => ({
      status: 307,
      headers: { location: other.url },
    }));
    callbacks(store, { backoff: () => null }).added(task);
    expect((await store.ended(task)).attempts).toMatchObject([
      { status: 307, error: 'the receiver answered 307: redirects are not followed' },
    ]);
    expect(other.received).toEqual([]);
  });

  it('is not retried after 410', async () => {
    const { store, task } = await setUp(inTurn(answered(410)));
    callbacks(store).added(task);
    expect(await store.ended(task)).toMatchObject({
      status: 'failed',
      attempts: [{ status: 410, error: 'the receiver wants no more callbacks (410)' }],
    });
  });

  it('times out after 15 seconds, which counts as a failed attempt', async () => {
    const silent = await receiving(inTurn('never'));
    const { store, task } = await setUp(inTurn(answered(200)));
    const upstream = new UpstreamClient();
    onTestFinished(() => upstream.close());
    const given: number[] = [];
    const open = (url: string, options: UpstreamRequest) => {
      const { timeouts } = options;
      given.push(timeouts.total);
      if (given.length > 1) return upstream.open(url, options);
      // The first attempt times out sooner than a test would wait for.
      return upstream.open(silent.url, { ...options, timeouts: { ...timeouts, total: 50 } });
    };
    callbacks(store, { upstream: { open } }).added(task);
    expect((await store.ended(task)).attempts).toMatchObject([
      { status: null, error: expect.stringContaining('did not finish its answer in time') },
      { status: 200 },
    ]);
    expect(given).toEqual([15_000, 15_000]);
  });

  it('is delivered by a 2xx status, whatever the body', async () => {
    const { store, task } = await setUp(() => ({
      status: 200,
      body: Buffer.alloc(50_000_000),
    }));
    callbacks(store).added(task);
    expect(await store.ended(task)).toMatchObject({ status: 'delivered', attempts: [{}] });
  });

  it('is not sent for a task without callback_url', async () => {
    const store = new Deliveries();
    const claim = vi.spyOn(store, 'claimDeliveries');
    callbacks(store).added({ callbackUrl: null });
    expect(claim).not.toHaveBeenCalled();
  });

  it.each([
    ['task', (store: Deliveries) => store.tasks.clear()],
    ['account', (store: Deliveries) => store.accounts.clear()],
  ])('fails where its %s was deleted', async (what, remove) => {
    const { receiver, store, task } = await setUp();
    remove(store);
    callbacks(store).added(task);
    expect(await store.ended(task)).toMatchObject({
      status: 'failed',
      attempts: [{ status: null, error: `the ${what} is gone` }],
    });
    expect(receiver.received).toEqual([]);
  });
});

describe('a private callback address', () => {
  it('is not connected to, and not retried', async () => {
    const { receiver, store, task } = await setUp();
    callbacks(store, { allowPrivateAddresses: false }).added(task);
    expect(await store.ended(task)).toMatchObject({
      status: 'failed',
      attempts: [
        {
          status: null,
          error: `127.0.0.1:${receiver.port} is a private address, which this server does not connect to`,
        },
      ],
    });
    expect(receiver.received).toEqual([]);
  });

  it('is not connected to at a port that callbacks may not use', async () => {
    const store = new Deliveries();
    const task = store.add('http://hooks.example:6379/hook');
    callbacks(store, { allowPrivateAddresses: false, callbackPorts: ['1024-6378'] }).added(task);
    expect(await store.ended(task)).toMatchObject({
      status: 'failed',
      attempts: [{ error: expect.stringContaining('at port 6379') }],
    });
  });

  it('is detected by DNS at every attempt', async () => {
    const receiver = await receiving();
    const store = new Deliveries();
    const task = store.add(`http://hooks.example:${receiver.port}/hook`);
    const resolve = vi.fn(async (): Promise<readonly string[]> => {
      if (resolve.mock.calls.length === 1) {
        throw Object.assign(new Error('queryA ESERVFAIL hooks.example'), { code: 'ESERVFAIL' });
      }
      return ['127.0.0.1'];
    });
    const upstream = new UpstreamClient({ resolve });
    onTestFinished(() => upstream.close());
    callbacks(store, { upstream, allowPrivateAddresses: false }).added(task);
    expect(await store.ended(task)).toMatchObject({
      status: 'failed',
      attempts: [
        { error: expect.stringContaining('cannot be reached: its name server failed') },
        {
          error: 'hooks.example leads to a private address, which this server does not connect to',
        },
      ],
    });
    expect(receiver.received).toEqual([]);
  });
});

describe('several callbacks', () => {
  it('are not delayed by other receivers that do not answer', async () => {
    const slow = await receiving(inTurn('never'));
    const quick = await receiving();
    const store = new Deliveries();
    const deliverer = callbacks(store);
    for (let count = 0; count < 100; count += 1) deliverer.added(store.add(slow.url));
    await slow.nth(8);
    const others = Array.from({ length: 20 }, () => store.add(quick.url, { accountId: 'acct_2' }));
    const own = store.add(quick.url);
    for (const task of [...others, own]) deliverer.added(task);
    for (const task of [...others, own]) {
      expect((await store.ended(task)).status).toBe('delivered');
    }
    // No more than this were begun at the one that keeps them.
    expect(slow.received).toHaveLength(8);
  });

  it('are delivered with limited concurrency', async () => {
    const receiver = await receiving(() => ({ status: 200, after: 5 }));
    const store = new Deliveries();
    const tasks = Array.from({ length: 60 }, () => store.add(receiver.url));
    await callbacks(store).start();
    for (const task of tasks) await store.ended(task);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(60);
    expect(receiver.received).toHaveLength(60);
    expect(receiver.most).toBeLessThanOrEqual(8);
  });

  it('are sent once although added several times', async () => {
    const { receiver, store, task } = await setUp();
    const deliverer = callbacks(store);
    deliverer.added(task);
    await deliverer.start();
    deliverer.added(task);
    await store.ended(task);
    const last = store.add(receiver.url);
    deliverer.added(last);
    await store.ended(last);
    expect(receiver.received).toHaveLength(2);
  });
});

describe('close', () => {
  it('aborts attempts under way, which the next process repeats', async () => {
    const { receiver, store, task } = await setUp(inTurn('never', answered(200)));
    const first = callbacks(store);
    first.added(task);
    await receiver.nth(1);
    await first.close();
    expect(store.of(task)).toMatchObject({ status: 'pending', attempts: [] });
    store.dropClaims();

    await callbacks(store).start();
    expect(await store.ended(task)).toMatchObject({ status: 'delivered', attempts: [{}] });
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(ids).toEqual([store.of(task).id, store.of(task).id]);
  });

  it('starts no further attempts', async () => {
    const receiver = await receiving(inTurn('never'));
    const store = new Deliveries();
    const deliverer = callbacks(store);
    for (let count = 0; count < 20; count += 1) deliverer.added(store.add(receiver.url));
    await receiver.nth(8);
    await deliverer.close();
    deliverer.added(store.add(receiver.url));
    await delay(20);
    expect(receiver.received).toHaveLength(8);
    expect([...store.deliveries.values()].every(({ attempts }) => attempts.length === 0)).toBe(
      true,
    );
  });

  it('does not wait for scheduled retries', async () => {
    const { store, task } = await setUp(inTurn(answered(500)));
    const now = () => ENDED;
    const deliverer = callbacks(store, { now, backoff: () => 3_600_000 });
    deliverer.added(task);
    const delivery = await store.until(task, ({ attempts }) => attempts.length === 1);
    expect(delivery).toMatchObject({ status: 'pending', nextAt: ENDED + 3_600_000 });
    await deliverer.close();
  });
});

describe('a clock set back', () => {
  it('does not delay an earlier delivery', async () => {
    const { store, task } = await setUp();
    const year = 365 * 24 * 3_600_000;
    await callbacks(store, { now: () => ENDED - year }).start();
    expect((await store.ended(task)).status).toBe('delivered');
  });

  it('does not delay the next attempt', async () => {
    const { store, task } = await setUp(inTurn(answered(500), answered(200)));
    let now = ENDED;
    const onAttempt = () => {
      now -= 365 * 24 * 3_600_000;
    };
    callbacks(store, { now: () => now, onAttempt, backoff: () => 10 }).added(task);
    expect((await store.ended(task)).status).toBe('delivered');
  });
});

describe('an error', () => {
  it('inside the server is reported, and counts as an attempt', async () => {
    const { store, task } = await setUp();
    const faults: unknown[] = [];
    const defect = new TypeError('a defect');
    let records = 0;
    callbacks(store, {
      onFault: (error) => faults.push(error),
      record(ended) {
        records += 1;
        if (records === 1) throw defect;
        return record(ended);
      },
    }).added(task);
    expect(await store.ended(task)).toMatchObject({
      status: 'delivered',
      attempts: [{ status: null, error: 'it could not be sent' }, { status: 204 }],
    });
    expect(faults).toEqual([defect]);
  });

  it('of the store causes no second delivery', async () => {
    const { receiver, store, task } = await setUp();
    const full = new Error('the disk is full');
    receiver.reply = () => {
      store.faults.push(full);
      return { status: 200 };
    };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const faults: unknown[] = [];
    const faultReported = new Promise<void>((resolve) => {
      callbacks(store, {
        onFault: (error) => {
          faults.push(error);
          resolve();
        },
      }).added(task);
    });
    while (vi.getTimerCount() === 0) await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(0);
    await faultReported;
    expect(store.of(task).attempts).toEqual([]);
    await vi.advanceTimersByTimeAsync(5000);
    expect((await store.ended(task)).status).toBe('delivered');
    expect([receiver.received.length, faults]).toEqual([1, [full]]);
  });

  it('of the store does not block close', async () => {
    const store = new Deliveries();
    const task = store.add('http://127.0.0.1:1/');
    store.faults.push(new Error('the disk is full'));
    let heard!: (error: unknown) => void;
    const fault = new Promise((resolve) => {
      heard = resolve;
    });
    const deliverer = callbacks(store, { onFault: heard });
    deliverer.added(task);
    await fault;
    await deliverer.close();
    expect(store.of(task).attempts).toEqual([]);
  });

  it('of recording a deleted delivery ends it', async () => {
    const { receiver, store, task } = await setUp();
    receiver.reply = () => {
      store.deliveries.clear();
      return { status: 200 };
    };
    const deliverer = callbacks(store);
    deliverer.added(task);
    await receiver.nth(1);
    receiver.reply = () => ({ status: 200 });
    const next = store.add(receiver.url);
    deliverer.added(next);
    await store.ended(next);
    expect(receiver.received).toHaveLength(2);
  });
});

describe('a rotated secret', () => {
  it.each([
    ['signs as well for a while', OVERLAP - 1000, true],
    ['then signs no more', OVERLAP, false],
    ['signs as well where the clock was set back', -OVERLAP, true],
  ])('%s', async (_, age, isValid) => {
    const { receiver, store, task } = await setUp();
    const account = store.accounts.get('acct_1')!;
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const now = Date.now();
    const previousSecret = { secret, replacedAt: now - age };
    store.accounts.set('acct_1', { ...account, previousSecret });
    callbacks(store, { now: () => now }).added(task);
    await store.ended(task);
    const [received] = receiver.received;
    expect(WebhookReceiver.verified(account.callbackSecret, received!)).toBeDefined();
    const verify = () => WebhookReceiver.verified(secret, received!);
    if (isValid) expect(verify()).toBeDefined();
    else expect(verify).toThrow();
  });
});
