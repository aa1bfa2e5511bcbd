import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { startDaemon, type TestDaemon } from '../daemon.ts';
import { describeWithPostgres } from '../engines/postgres.ts';
import { openServer } from '../fixtures/open-server.ts';
import { until } from '../fixtures/until.ts';
import { WebhookReceiver } from '../media/webhook-receiver.ts';

const SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;

/** A provider that refuses every key. */
const refusing = createServer((_, response) => {
  response.writeHead(401, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message: 'Incorrect API key provided' } }));
});

interface Event {
  readonly type: string;
  readonly data: { readonly subject: object; readonly figures: object };
}

describeWithPostgres('alerts of several nodes', (server) => {
  it('come once: a budget that three nodes spend, a key that all are refused, a lost node', async () => {
    const { url, close } = await openServer(refusing);
    const receiver = await WebhookReceiver.open();
    onTestFinished(async () => {
      await close();
      await receiver.close();
    });
    const config = {
      store: { driver: 'postgres', url: server().url },
      network: { allowPrivateAddresses: true },
      routing: { retries: 0 },
      alerts: {
        errorShare: 1,
        diskFree: '0B',
        webhooks: [{ name: 'ops', url: receiver.url, secret: SECRET }],
      },
      providers: {
        sandbox: { kind: 'sandbox' },
        acme: { kind: 'openai', baseUrl: `${url}/v1`, apiKey: 'sk-wrong-1234567' },
      },
      models: {
        priced: {
          type: 'text',
          routes: [{ provider: 'sandbox', model: 'chat' }],
          price: { output: 1_000_000 },
        },
        refused: { type: 'text', routes: [{ provider: 'acme', model: 'up' }] },
      },
    };
    const nodes = await Promise.all([1, 2, 3].map(() => startDaemon({ config })));
    const post = async (node: TestDaemon, path: string, body: object, key?: string) => {
      const response = await node.send(path, body, { key });
      return { status: response.status, body: await response.json() };
    };
    const ask = (node: TestDaemon, model: string, key?: string) => {
      const messages = [{ role: 'user', content: 'Hello' }];
      return post(node, '/v1/chat/completions', { model, messages, max_tokens: 5 }, key);
    };
    const events = () =>
      receiver.received.map((one) => WebhookReceiver.verified(SECRET, one) as Event);
    const ofType = (type: string) => events().filter((event) => event.type === type);

    const options = { account: 'owner', name: 'shared', budget: 100 };
    const made = await post(nodes[0]!, '/v1/admin/keys/create', options);
    const { key } = (made.body as { result: { key: string } }).result;
    // A credit for each token; no node alone spends half of the budget.
    let spent = 0;
    for (let turn = 0; spent < 100; turn += 1) {
      const { status, body } = await ask(nodes[turn % 3]!, 'priced', key);
      if (status === 402) break;
      expect(status).toBe(200);
      spent += (body as { usage: { completion_tokens: number } }).usage.completion_tokens;
    }
    await Promise.all(nodes.map((node) => ask(node, 'refused')));
    await until(() => ofType('provider.refused').length > 0);
    await until(() =>
      ofType('budget.reached').some(({ data }) =>
        expect.objectContaining({ threshold_percent: 100 }).asymmetricMatch(data.figures),
      ),
    );

    nodes[2]!.child.kill('SIGKILL');
    await until(() => ofType('node.lost').length > 0);
    const types = events().map(({ type, data }) => [type, data.subject, data.figures] as const);
    const distinct = new Set(types.map((one) => JSON.stringify(one)));
    expect(distinct.size).toBe(types.length);
    expect(ofType('provider.refused')).toHaveLength(1);
    expect(ofType('node.lost')).toHaveLength(1);
    const thresholds = ofType('budget.reached').map(
      ({ data }) => (data.figures as { threshold_percent: number }).threshold_percent,
    );
    expect(thresholds).toEqual([...new Set(thresholds)].toSorted((a, b) => a - b));
    // All nodes list the same.
    const lists = await Promise.all(
      nodes.slice(0, 2).map(async (node) => {
        const response = await node.request('/v1/admin/alerts/list');
        return ((await response.json()) as { result: { alerts: { id: string }[] } }).result.alerts;
      }),
    );
    expect(lists[0]).toEqual(lists[1]);
    expect(lists[0]).toHaveLength(receiver.received.length);
  });
});
