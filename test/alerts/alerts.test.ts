import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { Alerts } from '../../src/alerts/alerts.ts';
import { type Condition, routeDown, routeRecovered } from '../../src/alerts/condition.ts';
import { ErrorCounts } from '../../src/alerts/error-counts.ts';
import type { DeliveryEnd } from '../../src/alerts/webhooks.ts';
import type { Config } from '../../src/config/settings/schema.ts';
import {
  type Alert,
  type AlertRequest,
  decideAlerts,
  type HeldClaim,
} from '../../src/store/alert.ts';
import { UpstreamClient } from '../../src/upstream/client.ts';
import { listening } from '../fixtures/server.ts';
import { WebhookReceiver } from '../media/webhook-receiver.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

const OPEN = {
  allowPrivateAddresses: true,
  inputPorts: [],
  callbackPorts: [],
  deny: [],
  allow: [],
};

type Webhook = Config['alerts']['webhooks'][number];

const webhookAt = (url: string, change: Partial<Webhook> = {}): Webhook => ({
  ...{ name: 'ops', url, secret: SECRET },
  ...change,
});

/** The claims of a store, which can fail. */
class Claims {
  readonly held = new Map<string, HeldClaim>();
  failure: Error | null = null;
  now = 0;
  calls = 0;

  async raiseAlerts(requests: readonly AlertRequest[]) {
    this.calls += 1;
    if (this.failure) throw this.failure;
    const decision = decideAlerts(requests, (subject) => this.held.get(subject), this.now);
    for (const claim of decision.changed) this.held.set(claim.subject, claim);
    return decision;
  }

  listAlerts = async () => [];
}

type End = readonly [type: string, webhook: string, end: DeliveryEnd, reason: string | null];

function startAlerts(
  webhooks: readonly Webhook[],
  {
    network = OPEN,
    backoff = () => null,
  }: { network?: typeof OPEN; backoff?: (attempts: number) => number | null } = {},
) {
  const upstream = new UpstreamClient();
  const store = new Claims();
  const raised: Alert[] = [];
  const ends: End[] = [];
  const faults: unknown[] = [];
  const dropped: number[] = [];
  let changed = () => {};
  const alerts = new Alerts({
    ...{ store, upstream, backoff },
    settings: () => ({ alerts: { webhooks, repeat: 60_000 }, network }) as unknown as Config,
    publicUrl: () => 'https://oriel.example',
    onAlert: (alert) => raised.push(alert) && changed(),
    onDelivery: ({ type }, webhook, end, reason) =>
      ends.push([type, webhook, end, reason]) && changed(),
    onDropped: (count) => dropped.push(count) && changed(),
    onFault: (error) => faults.push(error) && changed(),
  });
  onTestFinished(async () => {
    await alerts.close();
    await upstream.close();
  });
  const until = async (isDone: () => boolean) => {
    while (!isDone()) {
      await new Promise<void>((resolve) => {
        changed = resolve;
      });
    }
  };
  return { alerts, store, raised, ends, faults, dropped, until };
}

const ROUTE = { provider: 'acme', model: 'up', account: null };
const ABOUT = { provider: 'acme', model: 'up' };
const down = (alerts: Alerts): Condition => routeDown(ROUTE, 'no answer', alerts.times);

const local = (alerts: Alerts, subject: string): Condition => ({
  ...down(alerts),
  ...{ type: 'disk.low', subject, isLocal: true },
});

describe('alerts', () => {
  it('are signed, name what happened and link to the console', async () => {
    const receiver = await WebhookReceiver.open();
    onTestFinished(() => receiver.close());
    const { alerts, raised } = startAlerts([webhookAt(receiver.url)]);
    alerts.raise(down(alerts));
    const got = await receiver.nth(1);
    expect(WebhookReceiver.verified(SECRET, got)).toEqual({
      type: 'route.down',
      timestamp: new Date(0).toISOString(),
      data: {
        id: got.headers['webhook-id'],
        message: 'The route to "up" at the provider "acme" is down: no answer',
        ...{ subject: ABOUT, figures: {}, link: 'https://oriel.example/console/models' },
      },
    });
    expect(raised.map(({ id }) => id)).toEqual([got.headers['webhook-id']]);
  });

  it('of a flapping route are raised once down and once back in a window', async () => {
    const { alerts, store, raised, until } = startAlerts([]);
    alerts.raise(down(alerts));
    await until(() => raised.length === 1);
    for (let turn = 1; turn <= 50; turn += 1) {
      store.now = turn;
      alerts.raise(routeRecovered(ROUTE, alerts.times));
      await until(() => raised.length === 2);
      alerts.raise(down(alerts));
    }
    expect(raised.map(({ type }) => type)).toEqual(['route.down', 'route.recovered']);
    // Only the recovery asks the store.
    expect(store.calls).toBeLessThan(10);
    store.now = 60_000;
    alerts.raise(down(alerts));
    await until(() => raised.length === 3);
    expect(raised[2]!.type).toBe('route.down');
  });

  it('wait while the store takes nothing, except for those of this node alone', async () => {
    const { alerts, store, raised, faults, until } = startAlerts([]);
    store.failure = new Error('the disk is full');
    alerts.raise(down(alerts));
    alerts.raise(local(alerts, 'disk/a'));
    await until(() => raised.length === 1);
    alerts.raise(local(alerts, 'disk/a'));
    expect(raised.map(({ type }) => type)).toEqual(['disk.low']);
    expect(faults).toEqual([store.failure]);
  });

  it('are dropped and counted beyond ten thousand that wait for the store', async () => {
    const { alerts, raised, dropped, until } = startAlerts([]);
    for (let at = 0; at < 10_007; at += 1)
      alerts.raise({ ...down(alerts), subject: `route/${at}` });
    await until(() => raised.length === 10_000);
    expect(dropped).toEqual([7]);
  });

  it('beyond a thousand that wait for a webhook are dropped for it alone, and counted', async () => {
    const dead = await WebhookReceiver.open(() => 'never');
    const good = await WebhookReceiver.open();
    onTestFinished(async () => {
      await dead.close();
      await good.close();
    });
    const { alerts, ends, until } = startAlerts([
      webhookAt(dead.url, { name: 'dead', events: ['route.down'] }),
      webhookAt(good.url, { name: 'good', events: ['disk.low'] }),
    ]);
    for (let at = 0; at < 1100; at += 1) alerts.raise({ ...down(alerts), subject: `route/${at}` });
    await until(() => ends.length === 100);
    expect(new Set(ends.map((end) => end.join()))).toEqual(
      new Set(['route.down,dead,dropped,1000 alerts wait for the webhook']),
    );
    alerts.raise(local(alerts, 'disk/a'));
    await good.nth(1);
    await until(() => ends.length === 101);
    expect(await alerts.close()).toBe(1000);
  });

  it('go to the webhooks that are there for their type', async () => {
    const receiver = await WebhookReceiver.open();
    onTestFinished(() => receiver.close());
    const { alerts, ends, until } = startAlerts([
      webhookAt(receiver.url, { name: 'disks', events: ['disk.low'] }),
      webhookAt(receiver.url, { name: 'routes', events: ['route.down', 'route.recovered'] }),
    ]);
    alerts.raise(down(alerts));
    alerts.raise(local(alerts, 'disk/a'));
    await until(() => ends.length === 2);
    expect(ends.map(([type, name]) => `${type} ${name}`).toSorted()).toEqual([
      'disk.low disks',
      'route.down routes',
    ]);
  });
});

describe('a webhook', () => {
  const huge = createServer((_, response) => {
    const chunk = Buffer.alloc(1 << 20);
    const fill = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.writeHead(200).on('drain', fill);
    fill();
  });

  it.each([
    [
      'that redirects',
      302,
      { location: 'http://169.254.169.254/' },
      /answered 302: redirects are not/,
    ],
    ['that refuses', 400, {}, /answered 400/],
    ['that is gone', 410, {}, /\(410\)/],
  ])('%s fails with its reason', async (_, status, headers, reason) => {
    const receiver = await WebhookReceiver.open(() => ({ status, headers }));
    onTestFinished(() => receiver.close());
    const { alerts, ends, until } = startAlerts([webhookAt(receiver.url)]);
    alerts.raise(down(alerts));
    await until(() => ends.length === 1);
    expect(ends).toEqual([['route.down', 'ops', 'failed', expect.stringMatching(reason)]]);
    expect(receiver.received).toHaveLength(1);
  });

  it.each([
    ['a private address', 'http://127.0.0.1:80/', /private address.*; see network\.allow/],
    ['cloud metadata', 'http://169.254.169.254/latest', /private address/],
    ['an odd port', 'http://8.8.8.8:22/', /port 22/],
  ])('at %s is refused without a connection, and not retried', async (_, url, reason) => {
    const closed = { ...OPEN, allowPrivateAddresses: false, callbackPorts: [80, 443] };
    const options = { network: closed as unknown as typeof OPEN, backoff: () => 1 };
    const { alerts, ends, until } = startAlerts([webhookAt(url)], options);
    alerts.raise(down(alerts));
    await until(() => ends.length === 1);
    expect(ends).toEqual([['route.down', 'ops', 'failed', expect.stringMatching(reason)]]);
  });

  it('that sends an endless answer has the alert by its status', async () => {
    const { alerts, ends, until } = startAlerts([webhookAt(await listening(huge))]);
    const left = once(huge, 'request').then(([, response]) => once(response, 'close'));
    alerts.raise(down(alerts));
    await until(() => ends.length === 1);
    expect(ends).toEqual([['route.down', 'ops', 'delivered', null]]);
    await left;
  });

  it('gets the same event again until it answers, a limited number of times', async () => {
    const receiver = await WebhookReceiver.open((nth) => ({ status: nth < 3 ? 500 : 204 }));
    onTestFinished(() => receiver.close());
    const options = { backoff: (attempts: number) => (attempts < 4 ? 1 : null) };
    const { alerts, ends, until } = startAlerts([webhookAt(receiver.url)], options);
    alerts.raise(down(alerts));
    await until(() => ends.length === 1);
    expect(ends[0]![2]).toBe('delivered');
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(1);
    expect(ids).toHaveLength(3);
    receiver.reply = () => ({ status: 500 });
    alerts.raise({ ...down(alerts), subject: 'another' });
    await until(() => ends.length === 2);
    expect(ends[1]![2]).toBe('failed');
    expect(receiver.received).toHaveLength(7);
  });

  it('is tested by its name, and an unknown name is refused', async () => {
    const receiver = await WebhookReceiver.open();
    onTestFinished(() => receiver.close());
    const dead = webhookAt('http://127.0.0.1:1/', { name: 'dead' });
    const { alerts } = startAlerts([webhookAt(receiver.url), dead]);
    expect(await alerts.test('ops')).toMatchObject([
      { name: 'ops', isDelivered: true, status: 204 },
    ]);
    expect(await alerts.test(undefined)).toMatchObject([
      { name: 'ops', isDelivered: true },
      { name: 'dead', isDelivered: false, status: null, error: expect.stringContaining('refused') },
    ]);
    const got = WebhookReceiver.verified(SECRET, receiver.received[0]!);
    expect(got).toMatchObject({ type: 'alert.test' });
    await expect(alerts.test('x')).rejects.toMatchObject({ status: 404, param: 'name' });
  });
});

describe('shares of errors', () => {
  let now = 0;
  afterEach(() => {
    now = 0;
  });

  it('count over a sliding window, from enough requests on', () => {
    let window = 1000;
    const counts = new ErrorCounts(
      () => window,
      () => now,
    );
    const above = () => [...counts.above(0.2, 5)];
    for (let at = 0; at < 4; at += 1) counts.add('a', at === 0);
    expect(above()).toEqual([]);
    now = 500;
    counts.add('a', false);
    expect(above()).toEqual([]);
    counts.add('a', true);
    expect(above()).toEqual([{ name: 'a', requests: 6, failed: 2 }]);
    // The first part has passed.
    now = 1050;
    expect(above()).toEqual([]);
    for (let at = 0; at < 5; at += 1) counts.add('a', true);
    expect(above()).toEqual([{ name: 'a', requests: 7, failed: 6 }]);
    // Another window begins anew.
    window = 5000;
    expect(above()).toEqual([]);
    now = 99_000;
    expect(above()).toEqual([]);
  });
});
