import { beforeEach, describe, expect, it } from 'vitest';
import { RouteHealth } from '../../src/routing/health.ts';

const COOLDOWN = { after: 2, for: 1000 };

describe('the health of routes', () => {
  let now = 0;
  let health = new RouteHealth(() => now);

  beforeEach(() => {
    now = 5000;
    health = new RouteHealth(() => now);
  });

  const fail = (route = 'a') => health.begin(route, COOLDOWN)(false);

  it('lets a route rest after as many failures in a row as are allowed', () => {
    fail();
    expect(health.restOf('a')).toBe(0);
    fail();
    expect(health.restOf('a')).toBe(1000);
    expect(health.restOf('b')).toBe(0);
  });

  it('counts only failures in a row', () => {
    fail();
    health.begin('a', COOLDOWN)(true);
    fail();
    expect(health.restOf('a')).toBe(0);
  });

  it('lets one request try a route that has rested, and the others wait for it', () => {
    fail();
    fail();
    now += 1000;
    expect(health.restOf('a')).toBe(0);
    const tell = health.begin('a', COOLDOWN);
    expect(health.restOf('a')).toBeGreaterThan(0);
    tell(true);
    expect(health.restOf('a')).toBe(0);
    fail();
    expect(health.restOf('a')).toBe(0);
  });

  it('lets a route rest again at once when the one that tries it fails', () => {
    fail();
    fail();
    now += 1500;
    health.begin('a', COOLDOWN)(false);
    expect(health.restOf('a')).toBe(1000);
  });

  it('lets the next one try when a trial says nothing', () => {
    fail();
    fail();
    now += 1000;
    const tell = health.begin('a', COOLDOWN);
    tell(null);
    expect(health.restOf('a')).toBe(0);
    // What was told once stays told.
    tell(false);
    expect(health.restOf('a')).toBe(0);
  });

  it('takes a failure of a request from before the rest for no trial', () => {
    const early = health.begin('a', COOLDOWN);
    fail();
    fail();
    early(null);
    expect(health.restOf('a')).toBe(1000);
  });

  it('never lets a route rest where that is switched off', () => {
    for (let times = 0; times < 50; times += 1) health.begin('a', { after: 0, for: 1000 })(false);
    expect(health.restOf('a')).toBe(0);
  });
});
