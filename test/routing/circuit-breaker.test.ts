import { beforeEach, describe, expect, it } from 'vitest';
import { CircuitBreakers } from '../../src/routing/circuit-breaker.ts';

const COOLDOWN = { after: 2, for: 1000 };

describe('circuit breakers of routes', () => {
  let now = 0;
  let circuits = new CircuitBreakers(() => now);

  beforeEach(() => {
    now = 5000;
    circuits = new CircuitBreakers(() => now);
  });

  const fail = (account = 'ann') => circuits.begin('a', COOLDOWN, account)(false);
  const remaining = (account: string | null) => circuits.remainingCooldown('a', account);

  it('open after the configured number of consecutive failures', () => {
    fail();
    expect(circuits.remainingCooldown('a', 'ann')).toBe(0);
    fail();
    expect(circuits.remainingCooldown('a', 'ann')).toBe(1000);
    expect(circuits.remainingCooldown('b', 'ann')).toBe(0);
  });

  it('count consecutive failures only', () => {
    fail();
    circuits.begin('a', COOLDOWN, 'ann')(true);
    fail();
    expect(circuits.remainingCooldown('a', 'ann')).toBe(0);
  });

  it('let one request probe a route after the cooldown, while others wait', () => {
    fail();
    fail();
    now += 1000;
    expect(circuits.remainingCooldown('a', 'ann')).toBe(0);
    const report = circuits.begin('a', COOLDOWN, 'ann');
    expect(circuits.remainingCooldown('a', 'ann')).toBeGreaterThan(0);
    report(true);
    expect(circuits.remainingCooldown('a', 'ann')).toBe(0);
    fail();
    expect(circuits.remainingCooldown('a', 'ann')).toBe(0);
  });

  it('open again at once when the probe fails', () => {
    fail();
    fail();
    now += 1500;
    circuits.begin('a', COOLDOWN, 'ann')(false);
    expect(circuits.remainingCooldown('a', 'ann')).toBe(1000);
  });

  it('let the next request probe when a probe has no result', () => {
    fail();
    fail();
    now += 1000;
    const report = circuits.begin('a', COOLDOWN, 'ann');
    report(null);
    expect(circuits.remainingCooldown('a', 'ann')).toBe(0);
    // Only the first report counts.
    report(false);
    expect(circuits.remainingCooldown('a', 'ann')).toBe(0);
  });

  it('ignore results of requests from before the circuit opened', () => {
    const early = circuits.begin('a', COOLDOWN, 'ann');
    fail();
    fail();
    early(null);
    expect(circuits.remainingCooldown('a', 'ann')).toBe(1000);
  });

  it('never open where the cooldown is switched off', () => {
    for (let times = 0; times < 50; times += 1)
      circuits.begin('a', { after: 0, for: 1000 }, 'ann')(false);
    expect(circuits.remainingCooldown('a', 'ann')).toBe(0);
  });

  it('stay closed for other accounts while the requests of one fail, however often', () => {
    for (let times = 0; times < 50; times += 1) fail('ann');
    expect([remaining('ann'), remaining('bob'), remaining(null)]).toEqual([1000, 0, 0]);
    // The probes of the same account after the cooldown change nothing for others.
    for (let probes = 0; probes < 5; probes += 1) {
      now += 1000;
      fail('ann');
      expect([remaining('ann'), remaining('bob')]).toEqual([1000, 0]);
    }
  });

  it('open for all accounts once requests of two fail, and close at a success of any', () => {
    fail('ann');
    fail('bob');
    expect([remaining('ann'), remaining('bob'), remaining('eve')]).toEqual([1000, 1000, 1000]);
    now += 1000;
    // Each account has a probe of its own, so that a slow one delays nobody else.
    circuits.begin('a', COOLDOWN, 'ann');
    expect(remaining('ann')).toBeGreaterThan(0);
    expect(remaining('eve')).toBe(0);
    fail('ann');
    expect(remaining('eve')).toBe(0);
    fail('bob');
    expect(remaining('eve')).toBe(1000);
    now += 1000;
    circuits.begin('a', COOLDOWN, 'eve')(true);
    expect([remaining('ann'), remaining('bob'), remaining('eve')]).toEqual([0, 0, 0]);
  });

  it('count an account for half of the failures at most', () => {
    const after = { after: 5, for: 1000 };
    for (let times = 0; times < 4; times += 1) circuits.begin('a', after, 'ann')(false);
    circuits.begin('a', after, 'bob')(false);
    expect(remaining('eve')).toBe(0);
    circuits.begin('a', after, 'bob')(false);
    expect(remaining('eve')).toBe(1000);
  });
});
