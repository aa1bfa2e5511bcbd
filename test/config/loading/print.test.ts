import { describe, expect, it } from 'vitest';
import { oriel } from '../../oriel.ts';
import { BLANK, configFile, load, resident } from '../configuration.ts';

const SECRET = 'sk-very-secret-0123456789';
const SECRETS = { KEY: SECRET, TOKEN: `${SECRET}-token`, PART: `${SECRET}-part` };

const WHOLE = `
server: { host: 0.0.0.0, publicUrl: "https://oriel.example", trustProxy: [10.0.0.0/8] }
metrics: { token: "\${TOKEN}" }
limits: { retention: 1.5h }
providers:
  a: { kind: openai, baseUrl: "https://a.example/v1", apiKey: "\${KEY}" }
  b: { kind: oriel, baseUrl: "https://b.example/\${PART}/v1", apiKey: ${SECRET}-literal }
models:
  m:
    type: text
    description: "Costs $\${PRICE}, says: \\"hello\\""
    routes: [{ provider: a, model: x, priority: 2 }, { provider: b, model: y }]
    price: { input: 1.25, output: 10 }
`;

async function printed(yaml: string, args: string[] = [], env: Record<string, string> = SECRETS) {
  const file = configFile(yaml);
  const run = await resident(['config', 'print', file, ...args], { env: { ...BLANK, ...env } });
  expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: '' });
  return run.out;
}

describe('config print', () => {
  it('prints the effective settings, with defaults and redacted secrets', async () => {
    const settings = JSON.parse(await printed(WHOLE, ['--json'])) as unknown;
    expect(settings).toMatchObject({
      server: { host: '0.0.0.0', port: 8787, trustProxy: ['10.0.0.0/8'], grace: '30s' },
      metrics: { enabled: true, token: '***' },
      limits: { retention: '1.5h', free: { rpm: 20 } },
      providers: {
        a: { kind: 'openai', baseUrl: 'https://a.example/v1', apiKey: '***' },
        b: { kind: 'oriel', baseUrl: '***', apiKey: '***' },
      },
      models: {
        m: {
          ownedBy: 'oriel',
          description: 'Costs ${PRICE}, says: "hello"',
          routes: [{ priority: 2 }, { provider: 'b', priority: 1 }],
          price: { input: 1.25, output: 10 },
        },
      },
    });
  });

  it('prints YAML that loads as the same configuration', async () => {
    const yaml = await printed(WHOLE.replace('/${PART}', ''));
    expect(yaml).toContain('Costs $${PRICE}');
    const { config } = load(WHOLE.replace('/${PART}', ''), SECRETS);
    const hidden = { apiKey: '***' };
    const again = load(yaml).config;
    expect(again).toEqual({
      ...config,
      dataDir: again.dataDir,
      cassettes: again.cassettes,
      metrics: { ...config.metrics, token: '***' },
      providers: {
        a: { ...config.providers['a'], ...hidden },
        b: { ...config.providers['b'], ...hidden },
      },
    });
  });

  it('prints the defaults without a file', async () => {
    expect(load(await printed('')).config).toMatchObject({
      server: load('').config.server,
      models: load('').config.models,
    });
  });

  it('prints only the faults of an invalid configuration', async () => {
    const file = configFile('pol: 1');
    const run = await oriel(['config', 'print', file], { env: BLANK });
    expect(run).toMatchObject({
      status: 1,
      out: '',
      stderr: `${file}:1: pol: unknown; did you mean pool?\n`,
    });
  });
});

describe('a secret', () => {
  const providers = (settings: string) => `providers: { p: { kind: openai, ${settings} } }`;

  it.each<[name: string, yaml: string]>([
    ['well placed', WHOLE],
    ['of a wrong form', providers('baseUrl: "https://x.example", apiKey: "${KEY} x"')],
    [
      'written out, of a wrong form',
      providers(`baseUrl: "https://x.example", apiKey: "${SECRET} x"`),
    ],
    ['that is a number', `metrics: { token: [${SECRET}] }`],
    ['instead of a URL', providers('baseUrl: "${KEY}"')],
    ['within a URL', providers(`baseUrl: "https://user:${SECRET}@x.example"`)],
    ['instead of a number', 'server: { port: "${KEY}" }'],
    ['instead of a duration', 'server: { grace: "${KEY}" }'],
    ['instead of a choice', 'log: { level: "a${KEY}" }'],
    ['instead of a boolean', 'metrics: { enabled: "${KEY}" }'],
    ['instead of a section', 'server: "${KEY}"'],
    ['instead of a list', 'models: { m: { type: text, routes: "${KEY}" } }'],
    ['written out instead of an object', `providers: { openai: ${SECRET} }`],
    ['in a list instead of an object', `providers: { openai: [${SECRET}] }`],
    ['in an address of a proxy', 'server: { trustProxy: ["${KEY}"] }'],
    ['as a kind', 'providers: { p: { kind: "${KEY}" } }'],
    [
      'as a provider of a route',
      'models: { m: { type: text, routes: [{ provider: "${KEY}", model: x }] } }',
    ],
    ['as a default', `server: { port: "\${UNSET:-${SECRET}}" }`],
    ['in a malformed variable', `metrics: { token: "x\${${SECRET}" }`],
    ['as an alias', `metrics: { token: *${SECRET} }`],
    ['as a tag', `metrics: { token: !${SECRET} x }`],
    ['after an escape', `metrics: { token: "\\U${SECRET}" }`],
    ['in a quote left open', `metrics: { token: "${SECRET}`],
    ['where a block begins', `metrics:\n  token: |${SECRET}`],
    ['after a quote', `metrics:\n  token: 'x' ${SECRET}`],
    ['in a flow left open', `metrics: { token: ${SECRET}`],
    ['on a line of its own', `metrics: { enabled: true }\n${SECRET}`],
    ['after a bracket', `metrics: { enabled: true }\n} ${SECRET}`],
  ])('%s is not printed', async (_, yaml) => {
    const file = configFile(yaml);
    const env = { ...BLANK, ...SECRETS };
    for (const args of [['check'], ['print'], ['print', '--json']]) {
      const { status, out, stderr } = await resident(['config', ...args, file], { env });
      expect(out + stderr).not.toMatch(/very-secret|0123456789/);
      expect(out + stderr).not.toContain('defect');
      expect(status === 0 ? out : stderr).not.toBe('');
    }
  });
});
