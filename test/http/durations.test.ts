import { Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { Durations } from '../../src/http/durations.ts';

const BOUNDS = [0.001, 0.1, 2.5];
const NAME = 'some_seconds';
const HELP = 'Time that something took';

it('tells what the histogram of the library would', async () => {
  const own = new Durations(NAME, HELP, BOUNDS);
  const [ours, theirs] = [new Registry(), new Registry()];
  ours.registerMetric(own as unknown as Histogram);
  const library = new Histogram({
    name: NAME,
    help: HELP,
    buckets: BOUNDS,
    labelNames: ['method', 'route', 'status'],
    registers: [theirs],
  });
  expect(await ours.metrics()).toBe(await theirs.metrics());
  const routes = ['/v1/tasks/:task_id', '/v1/models/*', 'unknown', 'a "quoted" \\ one'];
  for (const method of ['GET', 'POST']) {
    for (const route of routes) {
      for (const status of [200, 404]) {
        // Below, upon and above each bound, and nothing at all.
        for (const seconds of [0, 0.001, 0.0011, 0.1, 2.5, 2.6, 1000]) {
          own.observe(method, route, status, seconds);
          library.observe({ method, route, status }, seconds);
        }
      }
    }
  }
  expect(await ours.metrics()).toBe(await theirs.metrics());
  expect(await ours.metrics()).toBe(await theirs.metrics());
});
