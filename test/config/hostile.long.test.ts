import { describe, expect, it } from 'vitest';
import { oriel } from '../oriel.ts';
import { BLANK, configFile, faultsOf, resident } from './configuration.ts';

describe('config check of malformed YAML', () => {
  it('reports several documents in one file', async () => {
    expect(await faultsOf('log: {}\n---\nserver: {}\n')).toEqual([
      expect.stringMatching(/^\d: column \d+: Source contains multiple documents/),
    ]);
  });

  it('reports the first ten syntax faults only', async () => {
    expect(await faultsOf(`log: {}\n${'}\n'.repeat(500)}`)).toHaveLength(10);
  });
});

describe('config check of a hostile file', () => {
  const laughs = ['a: &a [x, x, x, x, x, x, x, x, x]'];
  for (let index = 1; index < 10; index += 1) {
    const [name, before] = ['abcdefghij'[index], 'abcdefghij'[index - 1]];
    laughs.push(`${name}: &${name} [${Array(9).fill(`*${before}`).join(', ')}]`);
  }

  it.each<[name: string, contents: string | Uint8Array, fault: RegExp]>([
    ['a billion laughs', laughs.join('\n'), /more than 100 aliases|aliases repeat too many values/],
    [
      'an alias of itself',
      'models: &a { b: *a }',
      /^1: models(\.b)*: aliases repeat too many values$/m,
    ],
    ['a million brackets', '['.repeat(500_000), /^1: nested too deeply$/],
    ['a million braces', '{a: '.repeat(100_000), /^1: nested too deeply$/],
    ['a million dashes', '- '.repeat(200_000), /^1: nested too deeply$/],
    ['a million questions', '? '.repeat(200_000), /^1: nested too deeply$/],
    [
      'steps without end',
      Array.from({ length: 400 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
      /^\d+: nested too deeply$/,
    ],
    [
      'many names',
      Array.from({ length: 40_000 }, (_, i) => `k${i}: 1`).join('\n'),
      /^1: k0: unknown/,
    ],
    ['many aliases', `log: &a {}\nmodels: [${'*a,'.repeat(100_000)}]`, /more than 100 aliases/],
    ['a long name', `${'x'.repeat(900)}: 1`, /^1: x{900}: unknown/],
    [
      'a long value',
      `dataDir: [${'"x"'.padEnd(400_000)}]`,
      /^1: dataDir: expected a text, received a list$/,
    ],
    ['more than can be right', '#'.repeat(512_001), /^larger than 512 KB$/],
    ['bytes that are no UTF-8', new Uint8Array([0x61, 0x3a, 0x20, 0xff, 0xfe]), /^not UTF-8$/],
    ['UTF-16', Buffer.from('\ufefflog: {}', 'utf16le'), /^not UTF-8$/],
    ['an image', new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), /^not UTF-8$/],
  ])('rejects %s', async (_, contents, fault) => {
    expect((await faultsOf(contents)).join('\n')).toMatch(fault);
  });

  it('escapes control characters in its output', async () => {
    const file = configFile('"\\e[31m": 1\ndataDir: ["\\e[0m"]\nlog: { level: "\\e[2J" }');
    const { status, stderr } = await oriel(['config', 'check', file], { env: BLANK });
    expect(status).toBe(1);
    expect(stderr).not.toContain('\u001b');
  });
});

describe('config check of an unusual file', () => {
  it.each<[name: string, contents: string]>([
    ['a byte order mark', '\ufefflog: { level: warn }\n'],
    ['lines that end as on Windows', 'log:\r\n  level: warn\r\n'],
    ['JSON', '{"log": {"level": "warn"}}'],
    ['an anchor and its alias', 'log: { level: &level warn }\nserver: { host: *level }'],
    ['a document marker', '%YAML 1.2\n---\nlog: { level: warn }\n...\n'],
    ['older YAML', '%YAML 1.1\n---\nlog: { level: warn }\n'],
    ['tabs where they may be', 'log:\t{ level:\twarn }\t# comment\n'],
  ])('accepts %s', async (_, contents) => {
    const file = configFile(contents);
    const { status, out, stderr } = await resident(['config', 'print', '--json', file], {
      env: BLANK,
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(out)).toMatchObject({ log: { level: 'warn' } });
  });

  it('reads yes and no as texts in every version of YAML', async () => {
    expect(await faultsOf('%YAML 1.1\n---\nmetrics: { enabled: yes }')).toEqual([
      '3: metrics.enabled: expected true or false, received "yes"',
    ]);
  });
});
