import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedDaemon } from '../daemon.ts';
import { ROOT, temporaryFolder } from '../oriel.ts';

const RULES = join(ROOT, 'config', 'prometheus', 'oriel.rules.yml');
const DASHBOARD = join(ROOT, 'config', 'grafana', 'oriel.json');

/** Suffixes under which the series of a histogram are queried. */
const SUFFIX = /_(bucket|count|sum)$/;

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const rules = readFileSync(RULES, 'utf8');
const dashboard = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { readonly panels: Panel[] };
const expressions = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [title, expr] as const),
);

/** Names of metrics in an expression, with the labels that it compares or groups by. */
function metricsIn(text: string): string[] {
  return [...new Set(text.match(/\b(oriel|nodejs|process)_[a-z0-9_]+/g))];
}

describe('rules and dashboard', () => {
  const daemon = sharedDaemon({
    config: {
      providers: { sandbox: { kind: 'sandbox' } },
      models: {
        chat: {
          type: 'text',
          routes: [{ provider: 'sandbox', model: 'chat' }],
          cache: { ttl: '1h' },
        },
      },
    },
  });
  /** Labels by the name of the metric. */
  const known = new Map<string, Set<string>>();

  beforeAll(async () => {
    const body = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
    const response = await daemon().send('/v1/chat/completions', body);
    expect(response.status).toBe(200);
    await response.text();
    for (const line of (await daemon().metrics()).split('\n')) {
      const [, type] = /^# TYPE (\S+)/.exec(line) ?? [];
      if (type !== undefined) known.set(type, known.get(type) ?? new Set());
      const [, name = '', labels = ''] = /^([a-z]\w*)(?:\{(.*)\})? /.exec(line) ?? [];
      const family = known.get(name) ?? known.get(name.replace(SUFFIX, ''));
      for (const [, label] of labels.matchAll(/(\w+)="/g)) family?.add(label!);
    }
  });

  it.each([
    ...metricsIn(rules).map((name) => ['the rules', name] as const),
    ...metricsIn(expressions.map(([, expr]) => expr).join(' ')).map(
      (name) => ['the dashboard', name] as const,
    ),
  ])('%s use %s, which a daemon has', (_, name) => {
    expect(known.has(name) || known.has(name.replace(SUFFIX, '')), name).toBe(true);
  });

  it('compare and group by labels that a daemon, a scrape or a rule gives', () => {
    const given = new Set([
      'job',
      'instance',
      'le',
      ...[...known.values()].flatMap((all) => [...all]),
    ]);
    // Of counters that count nothing yet.
    for (const label of ['provider', 'webhook', 'outcome', 'type']) given.add(label);
    const text = [rules, ...expressions.map(([, expr]) => expr)].join('\n');
    const used = [
      ...Array.from(text.matchAll(/\bby \(([^)]*)\)/g), ([, list]) => list!.split(/,\s*/)).flat(),
      ...Array.from(text.matchAll(/[{,]\s*(\w+)\s*[=!]~?"/g), ([, label]) => label!),
    ];
    expect(used.length).toBeGreaterThan(40);
    expect([...new Set(used)].filter((label) => !given.has(label))).toEqual([]);
  });

  it('promtool accepts the rules, and each query of the dashboard as one', () => {
    const isInstalled = spawnSync('promtool', ['--version']).error === undefined;
    // Prometheus' own tool, where it is installed.
    if (!isInstalled) return;
    const run = (input: string) => {
      const file = join(temporaryFolder(), 'rules.yml');
      writeFileSync(file, input);
      const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], {
        encoding: 'utf8',
      });
      return status === 0 ? '' : stdout + stderr;
    };
    expect(run(rules)).toBe('');
    const queries = expressions.map(([, expr], index) => ({
      record: `panel:query:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'oriel'),
    }));
    expect(run(JSON.stringify({ groups: [{ name: 'dashboard', rules: queries }] }))).toBe('');
    expect(run(rules.replace('oriel_memory_share >', 'oriel_memory_share ><'))).not.toBe('');
  });

  it('panels have an id of their own, a title and queries', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { type, title, targets = [] } of panels) {
      expect(title).not.toBe('');
      expect(targets.length > 0, title).toBe(type !== 'row');
    }
  });
});
