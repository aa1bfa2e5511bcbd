import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { handOver, oriel, shell, temporaryFolder } from '../../oriel.ts';
import { BLANK, configFile, faultsOf, resident } from '../configuration.ts';

const PROVIDERS = `
providers:
  openai: { kind: openai, baseUrl: https://openai.example/v1, apiKey: key }
  anthropic: { kind: anthropic, baseUrl: https://anthropic.example/v1 }
  sandbox: { kind: sandbox }
`.trim();

/** One model on line 5 and below, after the providers. */
const model = (settings: string) => `${PROVIDERS}\nmodels:\n  m: { ${settings} }\n`;

interface Faulty {
  readonly name: string;
  readonly yaml?: string;
  readonly model?: string;
  readonly faults: readonly string[];
}

const FAULTY = parse(readFileSync(join(import.meta.dirname, '../faults.yaml'), 'utf8')) as Readonly<
  Record<'settings' | 'syntax' | 'names', readonly Faulty[]>
>;

const described = Object.entries(FAULTY).flatMap(([group, rows]) =>
  rows.map((row) => ({ group, ...row })),
);

describe('config check reports', () => {
  it.each(described)('$group: $name', async ({ yaml = '', model: settings, faults }) => {
    const source = settings ? model(settings) : yaml.replace('$PROVIDERS', PROVIDERS);
    const found = await faultsOf(source);
    const shown = found.map((fault, index) => {
      const [beginning, end] = faults[index]?.split('…') ?? [];
      return end === '' && fault.startsWith(beginning!) ? faults[index] : fault;
    });
    expect(shown).toEqual(faults);
  });

  it('no fault of valid files', async () => {
    expect(await faultsOf('')).toEqual([]);
    expect(await faultsOf('# nothing but a comment\n')).toEqual([]);
    expect(await faultsOf('server:\nproviders:\nmodels:\nlog: {}\n')).toEqual([]);
    const own = model(
      'type: text, routes: [{ provider: openai, model: a }, { provider: anthropic, model: b }, { provider: sandbox, model: c }]',
    );
    expect(await faultsOf(own)).toEqual([]);
  });

  it('the first hundred faults and the number of the others', async () => {
    const yaml = Array.from({ length: 130 }, (_, index) => `banana${index}: 1`).join('\n');
    const file = configFile(yaml);
    const { status, stderr } = await oriel(['config', 'check', file], { env: BLANK });
    expect(status).toBe(1);
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toHaveLength(101);
    expect(lines[99]).toContain(`${file}:100: banana99: unknown`);
    expect(lines[100]).toBe('and 30 more');
  });
});

describe('the configuration file', () => {
  const good = (name: string, models: number) =>
    `${name}: good: 1 provider, ${models} model${models === 1 ? '' : 's'}\n`;
  const ONE =
    'providers: { s: { kind: sandbox } }\nmodels: { m: { type: text, routes: [{ provider: s, model: x }] } }';

  it('is the argument, else ORIEL_CONFIG, else oriel.yaml, else none', async () => {
    const cwd = temporaryFolder();
    const check = async (args: string[], env: Record<string, string | undefined> = BLANK) => {
      const { out, stderr } = await resident(['config', 'check', ...args], { cwd, env });
      return out + stderr;
    };
    const sandbox = '10 models of the sandbox, unless the store has some';
    expect(await check([])).toBe(`no file, the defaults: good: 1 provider, ${sandbox}\n`);
    writeFileSync(join(cwd, 'oriel.yaml'), ONE);
    expect(await check([])).toBe(good(join(cwd, 'oriel.yaml'), 1));
    writeFileSync(join(cwd, 'other.yaml'), ONE);
    expect(await check([], { ORIEL_CONFIG: 'other.yaml' })).toBe(good(join(cwd, 'other.yaml'), 1));
    expect(await check(['oriel.yaml'], { ORIEL_CONFIG: 'other.yaml' })).toBe(
      good(join(cwd, 'oriel.yaml'), 1),
    );
    expect(await check([], { ORIEL_CONFIG: '' })).toBe(good(join(cwd, 'oriel.yaml'), 1));
    expect(await check(['gone.yaml'])).toBe(`${join(cwd, 'gone.yaml')}: no such file\n`);
    expect(await check([], { ORIEL_CONFIG: 'gone' })).toBe(`${join(cwd, 'gone')}: no such file\n`);
    mkdirSync(join(cwd, 'folder'));
    expect(await check(['folder'])).toBe(`${join(cwd, 'folder')}: a folder, not a file\n`);
    expect(await check(['/dev/zero'])).toBe('/dev/zero: larger than 512 KB\n');
  });

  it('is a fault if it exists and cannot be read', async () => {
    const cwd = temporaryFolder();
    const file = join(cwd, 'oriel.yaml');
    writeFileSync(file, '', { mode: 0 });
    handOver(cwd);
    const run = await oriel(['config', 'check'], { cwd, env: BLANK, unprivileged: true });
    expect(run).toMatchObject({
      status: 1,
      out: '',
      stderr: `${file}: no permission to read it\n`,
    });
  });

  it('can be a pipe', async () => {
    const run = await shell("echo 'pol: 1' | oriel config check /dev/stdin", { env: BLANK });
    expect(run).toMatchObject({
      status: 1,
      stderr: '/dev/stdin:1: pol: unknown; did you mean pool?\n',
    });
  });

  it('causes warnings for unused providers and a missing publicUrl', async () => {
    const file = configFile('server: { host: 0.0.0.0 }\nproviders: { a: { kind: sandbox } }');
    const { status, stderr } = await oriel(['config', 'check', file], { env: BLANK });
    expect(status).toBe(0);
    expect(stderr.split('\n')).toEqual([
      'oriel: warning: providers.a: no model has a route to it',
      expect.stringContaining('oriel: warning: server.publicUrl: not set, while'),
      '',
    ]);
  });

  it('causes a warning for a tier of prices that no request reaches', async () => {
    const settings =
      'type: text, routes: [{ provider: sandbox, model: a }], contextWindow: 200000, price: { tiers: [{ above: 100000, input: 1 }, { above: 200000, input: 2 }] }';
    const { status, stderr } = await resident(['config', 'check', configFile(model(settings))]);
    expect(status).toBe(0);
    expect(stderr).toContain(
      'warning: models.m.price.tiers[1].above: no request has more than the 200000 tokens of contextWindow',
    );
    expect(stderr).not.toContain('tiers[0]');
  });

  it('causes a warning for files on the disk of one of several daemons', async () => {
    const file = configFile('store: { driver: postgres, url: postgres://oriel@127.0.0.1/oriel }');
    const { stderr } = await resident(['config', 'check', file]);
    expect(stderr).toContain('warning: assets.driver: other daemons on the database cannot read');
  });

  it('causes warnings for base URLs without a version', async () => {
    const bases = ['https://a.example', 'https://a.example/api/', 'https://a.example/api/v1'];
    const named = (entry: (base: string) => object) =>
      Object.fromEntries(bases.map((base, index) => [`p${index}`, entry(base)]));
    const file = configFile(
      JSON.stringify({
        providers: named((baseUrl) => ({ kind: 'openai', baseUrl })),
        models: {
          m: {
            type: 'text',
            routes: bases.map((_, index) => ({ provider: `p${index}`, model: 'm' })),
          },
        },
      }),
    );
    const { status, stderr } = await resident(['config', 'check', file], { env: BLANK });
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: [0, 1]
        .map(
          (n) =>
            `oriel: warning: providers.p${n}.baseUrl: its path names no version, as /v1 does\n`,
        )
        .join(''),
    });
  });
});

it('wrong usage of config exits with 2 and a message', async () => {
  for (const [args, message] of [
    [['config', 'chek'], "unknown command 'chek'\n(Did you mean check?)"],
    [['config', 'check', '--jsn'], "unknown option '--jsn'"],
    [['config', 'check', 'a', 'b'], 'too many arguments'],
    [['config', 'schema', 'a'], 'too many arguments'],
  ] as const) {
    const run = await oriel(args);
    expect(run).toMatchObject({ status: 2, out: '' });
    expect(run.stderr).toContain(`oriel: ${message}`);
  }
  const bare = await oriel(['config']);
  expect(bare).toMatchObject({ status: 2, out: '' });
  expect(bare.stderr).toContain('Usage: oriel config');
});
