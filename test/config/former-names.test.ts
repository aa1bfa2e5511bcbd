import { describe, expect, it } from 'vitest';
import { routesOf } from '../../src/config/catalog/catalog.ts';
import { startDaemon } from '../daemon.ts';
import { BLANK, configFile, faultsOf, load, resident } from './configuration.ts';

/** A configuration of one model whose routes are given, on line 3. */
const withRoutes = (...routes: string[]) =>
  `providers: { p: { kind: sandbox } }
models:
  m: { type: video, routes: [${routes.map((route) => `{ provider: p, ${route} }`).join(', ')}] }
`;

const WARNING = 'models.m.routes[0].weight: renamed to priority; use the new name';

describe("the former name weight of a route's priority", () => {
  it('is read as the priority, also from the environment', () => {
    const yaml = withRoutes('model: a, weight: 2', 'model: b, weight: "${N}"', 'model: c');
    const { config } = load(yaml, { N: '3' });
    const { routes } = config.models['m']!;
    expect(routes).toEqual([
      { provider: 'p', model: 'a', priority: 2 },
      { provider: 'p', model: 'b', priority: 3 },
      { provider: 'p', model: 'c', priority: 1 },
    ]);
    expect(routesOf(config.models['m']!).map(({ model }) => model)).toEqual(['b', 'a', 'c']);
  });

  it('is a warning of config check', async () => {
    const file = configFile(withRoutes('model: a, weight: 2'));
    const { status, stderr } = await resident(['config', 'check', file], { env: BLANK });
    expect({ status, stderr }).toEqual({ status: 0, stderr: `oriel: warning: ${WARNING}\n` });
  });

  it('is a warning in the log of the daemon', async () => {
    const daemon = await startDaemon({
      config: {
        providers: { p: { kind: 'sandbox' } },
        models: { m: { type: 'video', routes: [{ provider: 'p', model: 'a', weight: 2 }] } },
      },
    });
    const warnings = daemon.log.filter(({ level }) => level === 'warn');
    expect(JSON.stringify(warnings)).toContain(WARNING);
  });

  it('is printed by config print as priority', async () => {
    const file = configFile(withRoutes('model: a, weight: 2'));
    const { out } = await resident(['config', 'print', file, '--json'], { env: BLANK });
    const printed = JSON.parse(out) as { models: { m: { routes: unknown } } };
    expect(printed.models.m.routes).toEqual([{ provider: 'p', model: 'a', priority: 2 }]);
  });

  it('beside priority in one route is a fault', async () => {
    expect(await faultsOf(withRoutes('model: a, weight: 2, priority: 2'))).toEqual([
      '3: models.m.routes[0].weight: former name of priority: remove one of the two',
    ]);
  });

  it('is named in the fault of its value', async () => {
    expect(await faultsOf(withRoutes('model: a, weight: -1'))).toEqual([
      '3: models.m.routes[0].weight: expected a number from 0 to 1000000, received -1',
    ]);
    expect(await faultsOf(withRoutes('model: a, weight: "${N}"'))).toEqual([
      '3: models.m.routes[0].weight: the environment variable N is not set',
    ]);
  });
});
