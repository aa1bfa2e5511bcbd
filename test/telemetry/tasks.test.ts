import { expect, it, onTestFinished } from 'vitest';
import { succession } from '../media/tasks/restart.ts';
import { startMockCollector, taskSpan } from './mock-collector.ts';

const [SERVER, ERROR] = [2, 2];
const POST = 'POST /images/generations';
const PROMPT = 'a lighthouse that no span shows';

it('tasks that fail have error spans and log lines, and batches of images spans', async () => {
  const collector = await startMockCollector();
  onTestFinished(() => collector.close());
  const { first, next } = await succession({
    telemetry: { otlp: { endpoint: collector.url, metrics: false } },
  });
  const { daemon, ann } = await next();
  first.always(POST, { status: 400, body: { error: { message: PROMPT, code: 'odd' } } });
  const failed = await ann.make({ model: 'any', prompt: PROMPT });
  expect(failed.status).toBe('failed');
  expect(first.only().headers['traceparent']).toBeUndefined();
  const spans = await collector.received((all) => taskSpan(all, failed.task_id) !== undefined);
  const span = taskSpan(spans, failed.task_id)!;
  expect(span).toMatchObject({ status: { code: ERROR } });
  expect(span.attributes).toMatchObject({
    'error.type': 'invalid_request',
    'oriel.task.status': 'failed',
  });
  expect(span.parentSpanId).toBeUndefined();
  expect(await daemon.logged('task')).toMatchObject({
    task: failed.task_id,
    status: 'failed',
    errorType: 'invalid_request',
    reason: expect.any(String),
    credits: 0,
  });
  const { status } = await ann.form('/api/free/batch-image-hash', [['files', Buffer.from('none')]]);
  expect(status).toBe(200);
  const withBatch = await collector.received((all) =>
    all.some(({ name }) => name.includes('batch')),
  );
  expect(withBatch.find(({ name }) => name.includes('batch'))).toMatchObject({
    name: 'POST /api/free/batch-image-hash',
    kind: SERVER,
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/api/free/batch-image-hash',
      'http.response.status_code': 200,
    },
  });
  expect(collector.faults).toEqual([]);
});
