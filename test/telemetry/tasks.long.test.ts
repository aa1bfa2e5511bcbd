import { expect, it, onTestFinished } from 'vitest';
import { succession } from '../media/tasks/restart.ts';
import { startMockCollector, taskSpan } from './mock-collector.ts';

const [SERVER, CLIENT, ERROR] = [2, 3, 2];
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const HEADERS = { 'content-type': 'application/json', traceparent: `00-${TRACE}-${PARENT}-01` };
const POST = 'POST /images/generations';
const PROMPT = 'a lighthouse that no span shows';

it('a task has one trace with its attempts, also those of a process that was killed', async () => {
  const collector = await startMockCollector();
  onTestFinished(() => collector.close());
  const { first, second, next } = await succession({
    telemetry: { otlp: { endpoint: collector.url, metrics: false, propagate: true } },
  });
  const { daemon, ann } = await next();
  first.always(POST, { status: 500, body: {} });
  second.always(POST, { wait: new Promise(() => {}) });
  const { body } = await ann.ask('/v1/images/generations', {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify({ model: 'either', prompt: PROMPT }),
  });
  const id = body.task_id as string;
  const asked = await second.received(POST);
  expect(asked.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
  const [failed] = await collector.received((spans) => spans.length === 1);
  expect(failed).toMatchObject({
    traceId: TRACE,
    kind: CLIENT,
    name: 'generate_content upstream-image',
    status: { code: ERROR },
    attributes: { 'oriel.provider': 'first', 'http.response.status_code': 500 },
  });
  await daemon.stop('SIGKILL');
  second.reset();
  const { daemon: later, ann: again } = await next();
  expect(await again.ended(id)).toMatchObject({ status: 'completed' });
  const spans = await collector.received((all) => taskSpan(all, id) !== undefined);
  const whole = taskSpan(spans, id)!;
  expect(whole).toMatchObject({
    traceId: TRACE,
    parentSpanId: PARENT,
    kind: SERVER,
    name: 'generate_content either',
    status: {},
    attributes: {
      'gen_ai.operation.name': 'generate_content',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'either',
      'gen_ai.output.type': 'image',
      'oriel.provider': 'second',
      'oriel.task.status': 'completed',
      'oriel.credits': 4,
    },
  });
  const attempts = spans.filter(({ parentSpanId }) => parentSpanId === whole.spanId);
  expect(attempts.map(({ attributes }) => attributes['oriel.provider'])).toEqual([
    'first',
    'first',
    'second',
  ]);
  expect(whole.start).toBeLessThanOrEqual(failed!.start);
  expect(await later.logged('task')).toMatchObject({
    task: id,
    key: expect.stringMatching(/^key_/),
    type: 'image',
    model: 'either',
    status: 'completed',
    provider: 'second',
    attempts: 2,
    credits: 4,
    milliseconds: expect.any(Number),
  });
  expect(collector.faults).toEqual([]);
  const all = JSON.stringify(spans, (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  expect(all).not.toContain(PROMPT);
});
