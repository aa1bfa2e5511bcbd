import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon, startDaemon, type TestDaemon } from '../daemon.ts';
import { describeWithPostgres } from '../engines/postgres.ts';
import { gate } from '../gate.ts';
import { type MockProvider, startMockProvider } from '../media/mock-provider.ts';
import { WebhookReceiver } from '../media/webhook-receiver.ts';
import { oriel } from '../oriel.ts';
import { type MockUpstream, startMockUpstream } from '../text/mock-upstream.ts';

const DRAW = 'POST /images/generations';

describeWithPostgres('two nodes', (server) => {
  let provider: MockProvider;
  let upstream: MockUpstream;
  let receiver: WebhookReceiver;
  beforeAll(async () => {
    provider = await startMockProvider();
    upstream = await startMockUpstream();
    receiver = await WebhookReceiver.open();
  });
  afterAll(async () => {
    await Promise.all([provider, upstream, receiver].map((one) => one.close()));
  });
  beforeEach(() => provider.reset());

  const settings = {
    get config() {
      const kind = { kind: 'openai', apiKey: 'sk-test' };
      return {
        server: { publicUrl: 'http://127.0.0.1:1' },
        store: { driver: 'postgres', url: server().url },
        network: { allowPrivateAddresses: true },
        routing: { retries: 0 },
        limits: { taskDeadline: '5m' },
        providers: {
          draws: { ...kind, baseUrl: provider.url, concurrency: 1 },
          talks: { ...kind, baseUrl: upstream.url },
        },
        models: {
          drawn: { type: 'image', routes: [{ provider: 'draws', model: 'gpt-image-1' }] },
          talk: { type: 'text', routes: [{ provider: 'talks', model: 'gpt' }] },
        },
      };
    },
  };
  const [one, other] = [sharedDaemon(settings), sharedDaemon(settings)];

  const post = (daemon: TestDaemon, path: string, body: object) => daemon.send(path, body);
  const draw = async (daemon: TestDaemon, path: string, callback?: string) => {
    const callback_url = callback && `http://127.0.0.1:${receiver.port}/${callback}`;
    const body = { model: 'drawn', prompt: 'a harbour', ...(callback_url && { callback_url }) };
    const response = await post(daemon, `/v1/images/${path}`, body);
    const text = await response.text();
    expect(response.status, text).toBeLessThan(300);
    return JSON.parse(text) as { readonly task_id: string };
  };
  const read = async (daemon: TestDaemon, path: string) =>
    (await daemon.request(`/v1/tasks/${path}`)).json();
  const statusOn = async (daemon: TestDaemon, id: string) =>
    ((await read(daemon, id)) as { readonly status: string }).status;
  const expectOneCallback = async (id: string, path: string) => {
    const deliveries = async () => {
      const { data } = (await read(other(), `${id}/callbacks`)) as { data: { status: string }[] };
      return data.map(({ status }) => status);
    };
    await expect.poll(deliveries).toEqual(['delivered']);
    expect(receiver.received.filter((callback) => callback.path === `/${path}`)).toHaveLength(1);
  };

  it('end a task once when one of them comes back after its lease', async () => {
    const late = gate();
    provider.next(DRAW, { wait: late.passed });
    const { task_id: id } = await draw(one(), 'generations', 'late');
    await provider.received(DRAW);
    one().child.kill('SIGSTOP');
    server().sql(`UPDATE oriel.nodes SET alive_until = now() - interval '1 second'
      WHERE id = (SELECT node FROM oriel.tasks WHERE id = '${id}')`);
    await provider.received(DRAW, 1);
    await expect.poll(() => statusOn(other(), id)).toBe('completed');
    const record = await read(other(), id);
    late.open();
    one().child.kill('SIGCONT');
    expect(await one().logged('another node has taken over a task of this one')).toMatchObject({
      task: id,
      attempts: 1,
    });
    expect(await read(one(), id)).toEqual(record);
    expect(provider.to(DRAW)).toHaveLength(2);
    const entries = server().sql(
      `SELECT type FROM oriel.ledger WHERE task_id = '${id}' ORDER BY id`,
    );
    expect(
      entries
        .trim()
        .split('\n')
        .filter((type) => type === 'charge').length,
    ).toBeLessThan(2);
    expect(server().sql(`SELECT attempts FROM oriel.tasks WHERE id = '${id}'`).trim()).toBe('2');
    await expectOneCallback(id, 'late');
    // The node returns to the others with its next heartbeat.
    const living = 'SELECT count(*) FROM oriel.nodes WHERE alive_until > now()';
    await expect.poll(() => server().sql(living).trim()).toBe('2');
  });

  it('go by the clock of the database where the clock of a machine is ten minutes ahead', async () => {
    const late = gate();
    provider.next(DRAW, { wait: late.passed });
    const tasks = [await draw(one(), 'generations')];
    await provider.received(DRAW);
    tasks.push(await draw(one(), 'generations'), await draw(one(), 'generations'));
    const clock = 'const now = Date.now; Date.now = () => now() + 600_000;';
    const env = { NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(clock)}"` };
    const ahead = await startDaemon({ config: settings.config, env });
    expect(
      (
        await ahead.logged(
          'the clock of this machine differs from the clock of the database, which counts; synchronise both by NTP',
        )
      ).level,
    ).toBe('warn');
    tasks.push(await draw(ahead, 'generations'));
    const times = server().sql(`SELECT max(abs(created_at - extract(epoch FROM now()) * 1000) +
      abs(deadline - created_at - 300000)) < 60000 FROM oriel.tasks WHERE status IN ('pending', 'processing')`);
    expect(times.trim()).toBe('t');
    late.open();
    for (const { task_id: id } of tasks) {
      await expect.poll(() => statusOn(ahead, id)).toBe('completed');
    }
  });

  it('answer a client that waits on one of them when the other ends its task', async () => {
    const [first, second] = [gate(), gate()];
    provider.next(DRAW, { wait: first.passed }, { wait: second.passed });
    const busy = await draw(one(), 'generations');
    await provider.received(DRAW);
    const waiting = draw(one(), 'generations/sync', 'waiting');
    await provider.received(DRAW, 1);
    const [id, node] = server()
      .sql(`SELECT id, node FROM oriel.tasks
      WHERE status = 'processing' ORDER BY seq DESC LIMIT 1`)
      .trim()
      .split('|');
    const busyOn = server().sql(`SELECT node FROM oriel.tasks WHERE id = '${busy.task_id}'`);
    expect(node).not.toBe(busyOn.trim());
    second.open();
    expect(await waiting).toMatchObject({ data: [{ url: expect.any(String) }] });
    await expectOneCallback(id!, 'waiting');
    first.open();
    await expect.poll(() => statusOn(other(), busy.task_id)).toBe('completed');
  });

  it('end the wait of oriel task on each of them, and show the claim in their metrics', async () => {
    const late = gate();
    provider.next(DRAW, { wait: late.passed });
    const { task_id: id } = await draw(one(), 'generations');
    await provider.received(DRAW);
    const nodes = [one(), other()];
    const valuesOf = async (metric: string) => {
      const texts = await Promise.all(nodes.map((node) => node.metrics()));
      return texts.map((text) => Number(new RegExp(`^${metric} (\\S+)$`, 'm').exec(text)?.[1]));
    };
    const sortedOf = async (metric: string) => (await valuesOf(metric)).toSorted();
    expect(await sortedOf('oriel_node_claims')).toEqual([0, 1]);
    // Each knows the others since its last heartbeat.
    await expect.poll(() => valuesOf('oriel_nodes_alive')).toEqual([2, 2]);
    await expect.poll(() => sortedOf('oriel_node_leader')).toEqual([0, 1]);
    expect(await valuesOf('oriel_store_writable')).toEqual([1, 1]);
    expect(
      Math.min(...(await valuesOf('oriel_store_commit_duration_seconds_count'))),
    ).toBeGreaterThan(0);
    const waits = nodes.map(({ url }) =>
      oriel(['task', id, '--wait', '--json'], {
        env: { ORIEL_URL: url, ORIEL_API_KEY: OWNER_KEY },
      }),
    );
    const hasAsked = ({ log }: TestDaemon) => log.some(({ path }) => path === `/v1/tasks/${id}`);
    await expect.poll(() => nodes.every(hasAsked)).toBe(true);
    late.open();
    for (const { status, out } of await Promise.all(waits)) {
      expect({ status, record: JSON.parse(out) }).toMatchObject({
        status: 0,
        record: { task_id: id, status: 'completed' },
      });
    }
    await expect.poll(() => valuesOf('oriel_node_claims')).toEqual([0, 0]);
  });

  it('cool a key down that a provider has limited at one of them', async () => {
    const error = { message: 'slow down', type: 'rate_limit_error' };
    upstream.play({ refuse: { status: 429, body: { error }, headers: { 'retry-after': '600' } } });
    const ask = (daemon: TestDaemon) =>
      post(daemon, '/v1/chat/completions', {
        model: 'talk',
        messages: [{ role: 'user', content: 'hello' }],
      });
    expect((await ask(one())).status).toBe(429);
    expect(await other().logged('a route cools down')).toMatchObject({ provider: 'talks' });
    const refused = await ask(other());
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(590);
    expect(upstream.requests).toHaveLength(1);
  });
});
