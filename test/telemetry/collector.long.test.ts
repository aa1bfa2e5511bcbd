import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../bench/free-port.ts';
import { startDaemon, type TestDaemon } from '../daemon.ts';
import {
  hang,
  type MockCollector,
  type Reply,
  refuse,
  startMockCollector,
} from './mock-collector.ts';

async function collectorOf(): Promise<MockCollector> {
  const collector = await startMockCollector();
  onTestFinished(() => collector.close());
  return collector;
}

const daemonOf = (endpoint: string, more: object = {}) =>
  startDaemon({ config: { telemetry: { otlp: { endpoint, metrics: false, ...more } } } });

/** Sends a request, and returns its identifier. */
async function ask(daemon: TestDaemon): Promise<string> {
  const response = await daemon.send('/v1/chat/completions', {
    model: 'sandbox-chat',
    messages: [{ role: 'user', content: 'Hello' }],
  });
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get('x-request-id')!;
}

const has = (id: string) => (spans: MockCollector['spans']) =>
  spans.some(({ attributes }) => attributes['oriel.request.id'] === id);

const FAILING = 'telemetry is not accepted by the collector';
const WELL = 'telemetry is accepted again';

const linesOf = ({ log }: TestDaemon, message: string) => log.filter(({ msg }) => msg === message);

/** An answer of status 200 whose body never ends. */
const endless: Reply = (response) => {
  response.writeHead(200);
  const write = () => {
    if (!response.destroyed) response.write(Buffer.alloc(65_536), () => setImmediate(write));
  };
  write();
};

it('spans are sent again, or dropped and counted, as the collector answers; the end sends the last', async () => {
  const collector = await collectorOf();
  collector.reply(refuse(503), refuse(429, { 'retry-after': '1' }), null);
  const daemon = await daemonOf(collector.url, { metrics: true, interval: '1h' });
  const dropped = async () => {
    const [, count] = /^oriel_telemetry_dropped_total\{signal="traces"\} (\d+)$/m.exec(
      await daemon.metrics(),
    ) ?? [null, '0'];
    return Number(count);
  };
  await collector.received(has(await ask(daemon)));
  expect(collector.requests).toHaveLength(3);
  await daemon.logged(WELL);
  expect(await dropped()).toBe(0);
  let expected = 0;
  for (const reply of [
    refuse(400, {}, '<html>'),
    refuse(302, { location: 'http://127.0.0.1:9/' }),
    refuse(200, {}, '{"partialSuccess":{"rejectedSpans":"2"}}'),
  ]) {
    collector.reply(reply);
    await ask(daemon);
    expected += 2;
    await expect.poll(dropped).toBe(expected);
  }
  collector.reply(endless, null);
  const before = collector.requests.length;
  await ask(daemon);
  await collector.received(() => collector.requests.length > before);
  await collector.received(has(await ask(daemon)));
  expect(await dropped()).toBe(expected);
  const last = await ask(daemon);
  expect((await daemon.stop()).status).toBe(0);
  expect(has(last)(collector.spans)).toBe(true);
  expect(collector.metrics.has('gen_ai.server.request.duration')).toBe(true);
  expect(collector.faults).toEqual([]);
  // Within one minute the log has one outage.
  expect(linesOf(daemon, FAILING)).toMatchObject([{ level: 'warn', reason: 'HTTP 503' }]);
});

it('requests and the end of the daemon do not wait for a collector that is silent', async () => {
  const collector = await collectorOf();
  collector.reply(hang);
  const daemon = await daemonOf(collector.url, { metrics: true, interval: '1s', timeout: '1m' });
  for (let sent = 0; sent < 20; sent += 1) await ask(daemon);
  const { status } = await daemon.stop();
  expect(status).toBe(0);
  // One of each signal at a time, and the metrics of the end at most.
  expect(collector.requests.length).toBeLessThanOrEqual(3);
});

it('a reload changes the collector, one that is absent too, the sampling, and ends telemetry', async () => {
  const port = await freePort();
  const [before, after] = [await collectorOf(), await collectorOf()];
  const daemon = await daemonOf(`http://127.0.0.1:${port}`, { metrics: true, interval: '1s' });
  const reload = (otlp?: object) => daemon.reload({ telemetry: { otlp } });
  await ask(daemon);
  expect(await daemon.logged(FAILING)).toMatchObject({ collector: `127.0.0.1:${port}` });
  await reload({ endpoint: before.url, metrics: false });
  const first = await ask(daemon);
  await reload({ endpoint: after.url, metrics: false });
  await before.received(has(first));
  const second = await ask(daemon);
  await after.received(has(second));
  await reload();
  const third = await ask(daemon);
  await reload({ endpoint: after.url, metrics: false, sampling: 0 });
  const fourth = await ask(daemon);
  await reload({ endpoint: after.url, metrics: false });
  await after.received(has(await ask(daemon)));
  for (const { spans } of [before, after]) {
    for (const unsent of [third, fourth]) expect(has(unsent)(spans)).toBe(false);
  }
  expect(has(second)(before.spans)).toBe(false);
  expect((await daemon.stop()).status).toBe(0);
});
