import { describe, expect, it } from 'vitest';
import { Drains } from '../../../src/text/relay/drains.ts';
import { LightAbortSignal } from '../../../src/upstream/abort-signal.ts';

const begin = (drains: Drains, accountId: string, more: object = {}) => {
  const clientDisconnect = new LightAbortSignal();
  const options = { accountId, clientDisconnect, timeout: 60_000, isWorthwhile: () => true };
  return {
    drain: drains.begin({ ...options, ...more }),
    leave: () => clientDisconnect.abort('left'),
  };
};

describe('answers that are read after their client has left', () => {
  it('are limited for each account, so that none takes all places', () => {
    const drains = new Drains();
    const requests = Array.from({ length: 17 }, () => begin(drains, 'one'));
    for (const { leave } of requests) leave();
    expect(requests.map(({ drain }) => drain.signal.aborted).indexOf(true)).toBe(16);
    const other = begin(drains, 'other');
    other.leave();
    expect(other.drain.signal.aborted).toBe(false);
    requests[0]!.drain.release();
    const next = begin(drains, 'one');
    next.leave();
    expect(next.drain.signal.aborted).toBe(false);
    for (const { drain } of [...requests, other, next]) drain.release();
  });

  it('are aborted after 16 MiB, of which those before the client left do not count', () => {
    const { drain, leave } = begin(new Drains(), 'one');
    drain.count(100 * 1024 * 1024);
    leave();
    drain.count(16 * 1024 * 1024);
    expect(drain.signal.aborted).toBe(false);
    drain.count(1);
    expect(drain.signal).toMatchObject({ aborted: true, reason: 'left' });
    drain.release();
  });

  it.each([
    ['time for it', { timeout: 0 }],
    ['a provider at work', { isWorthwhile: () => false }],
  ])('are none without %s', (_, more) => {
    const { drain, leave } = begin(new Drains(), 'one', more);
    leave();
    expect(drain.signal.aborted).toBe(true);
  });

  it('are none while the server shuts down', () => {
    const drains = new Drains();
    const { drain, leave } = begin(drains, 'one');
    drains.isClosed = true;
    leave();
    expect(drain.signal.aborted).toBe(true);
  });
});
