import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Flight } from '../../src/exchanges/cache/flight.ts';
import { LightAbortSignal } from '../../src/upstream/abort-signal.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const newFlight = () => new Flight(() => {});
const waitOf = (flight: Flight, signal = new LightAbortSignal()) =>
  flight.wait({ server: 'The provider', signal, timeout: 1000 });

it('is left after five seconds in which its client reads nothing', async () => {
  const flight = newFlight();
  const waiting = flight.wait({ server: 's', signal: new LightAbortSignal(), timeout: 60_000 });
  flight.pause();
  vi.advanceTimersByTime(4999);
  flight.resume();
  flight.pause();
  vi.advanceTimersByTime(4999);
  expect(await Promise.race([waiting, Promise.resolve('waits')])).toBe('waits');
  vi.advanceTimersByTime(1);
  expect(await waiting).toBe('alone');
});

it('is left by the one whose time is over or whose client leaves, and by no other', async () => {
  const flight = newFlight();
  const leaving = new LightAbortSignal();
  const late = expect(waitOf(flight)).rejects.toMatchObject({ code: 'total_timeout' });
  const left = expect(waitOf(flight, leaving)).rejects.toMatchObject({ code: 'aborted' });
  leaving.abort(new Error('left'));
  vi.advanceTimersByTime(1000);
  await Promise.all([late, left]);
  const staying = waitOf(flight);
  flight.end('failed');
  flight.end('abandoned');
  expect(await staying).toBe('failed');
});
