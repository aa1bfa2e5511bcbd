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

  const fail = (route = 'a') => circuits.begin(route, COOLDOWN)(false);

  it('open after the configured number of consecutive failures', () => {
    fail();
    expect(circuits.remainingCooldown('a')).toBe(0);
    fail();
    expect(circuits.remainingCooldown('a')).toBe(1000);
    expect(circuits.remainingCooldown('b')).toBe(0);
  });

  it('count consecutive failures only', () => {
    fail();
    circuits.begin('a', COOLDOWN)(true);
    fail();
    expect(circuits.remainingCooldown('a')).toBe(0);
  });

  it('let one request probe a route after the cooldown, while others wait', () => {
    fail();
    fail();
    now += 1000;
    expect(circuits.remainingCooldown('a')).toBe(0);
    const report = circuits.begin('a', COOLDOWN);
    expect(circuits.remainingCooldown('a')).toBeGreaterThan(0);
    report(true);
    expect(circuits.remainingCooldown('a')).toBe(0);
    fail();
    expect(circuits.remainingCooldown('a')).toBe(0);
  });

  it('open again at once when the probe fails', () => {
    fail();
    fail();
    now += 1500;
    circuits.begin('a', COOLDOWN)(false);
    expect(circuits.remainingCooldown('a')).toBe(1000);
  });

  it('let the next request probe when a probe has no result', () => {
    fail();
    fail();
    now += 1000;
    const report = circuits.begin('a', COOLDOWN);
    report(null);
    expect(circuits.remainingCooldown('a')).toBe(0);
    // Only the first report counts.
    report(false);
    expect(circuits.remainingCooldown('a')).toBe(0);
  });

  it('ignore results of requests from before the circuit opened', () => {
    const early = circuits.begin('a', COOLDOWN);
    fail();
    fail();
    early(null);
    expect(circuits.remainingCooldown('a')).toBe(1000);
  });

  it('never open where the cooldown is switched off', () => {
    for (let times = 0; times < 50; times += 1) circuits.begin('a', { after: 0, for: 1000 })(false);
    expect(circuits.remainingCooldown('a')).toBe(0);
  });
});
