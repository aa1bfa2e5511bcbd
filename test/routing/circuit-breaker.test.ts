import { beforeEach, describe, expect, it } from 'vitest';
import { CircuitBreakers } from '../../src/routing/circuit-breaker.ts';

const COOLDOWN = { after: 2, for: 1000 };

describe('the circuits of routes', () => {
  let now = 0;
  let circuits = new CircuitBreakers(() => now);

  beforeEach(() => {
    now = 5000;
    circuits = new CircuitBreakers(() => now);
  });

  const fail = (route = 'a') => circuits.begin(route, COOLDOWN)(false);

  it('lets a route rest after as many failures in a row as are allowed', () => {
    fail();
    expect(circuits.remainingCooldown('a')).toBe(0);
    fail();
    expect(circuits.remainingCooldown('a')).toBe(1000);
    expect(circuits.remainingCooldown('b')).toBe(0);
  });

  it('counts only failures in a row', () => {
    fail();
    circuits.begin('a', COOLDOWN)(true);
    fail();
    expect(circuits.remainingCooldown('a')).toBe(0);
  });

  it('lets one request try a route that has rested, and the others wait for it', () => {
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

  it('lets a route rest again at once when the one that tries it fails', () => {
    fail();
    fail();
    now += 1500;
    circuits.begin('a', COOLDOWN)(false);
    expect(circuits.remainingCooldown('a')).toBe(1000);
  });

  it('lets the next one try when a trial says nothing', () => {
    fail();
    fail();
    now += 1000;
    const report = circuits.begin('a', COOLDOWN);
    report(null);
    expect(circuits.remainingCooldown('a')).toBe(0);
    // What was told once stays told.
    report(false);
    expect(circuits.remainingCooldown('a')).toBe(0);
  });

  it('takes a failure of a request from before the rest for no trial', () => {
    const early = circuits.begin('a', COOLDOWN);
    fail();
    fail();
    early(null);
    expect(circuits.remainingCooldown('a')).toBe(1000);
  });

  it('never lets a route rest where that is switched off', () => {
    for (let times = 0; times < 50; times += 1) circuits.begin('a', { after: 0, for: 1000 })(false);
    expect(circuits.remainingCooldown('a')).toBe(0);
  });
});
