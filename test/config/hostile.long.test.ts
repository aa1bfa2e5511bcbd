import { describe, expect, it } from 'vitest';
import { oriel } from '../oriel.ts';
import { BLANK, configFile, faultsOf, resident } from './configuration.ts';

describe('config check of malformed YAML', () => {
  it.each<[name: string, yaml: string, faults: string[]]>([
    ['a quote left open', 'dataDir: "x', ['1: column 12: Missing closing "quote']],
    [
      'a tab for an indent',
      'server:\n\tport: 1',
      ['2: column 1: Tabs are not allowed as indentation'],
    ],
    [
      'two mappings on a line',
      'log: level: info',
      ['1: column 6: Nested mappings are not allowed in compact mappings'],
    ],
    ['a tag of its own', 'log: !thing {}', ['1: column 6: Unresolved tag']],
    ['code', 'log: !!js/function "x"', ['1: column 6: Unresolved tag']],
    ['binary data', 'dataDir: !!binary aGk=', ['1: dataDir: expected a value without a tag']],
    [
      'pairs',
      'log: !!omap [level: info]',
      ['1: log[0]: expected a value without a tag', '1: log: expected an object, received a list'],
    ],
    [
      'keys that are no names',
      '? [a, b]\n: 1',
      ['1: column 3: With stringKeys, all keys must be strings'],
    ],
    [
      'an anchor that is not there',
      'dataDir: *nowhere',
      ['1: dataDir: there is no anchor of this name before it'],
    ],
    ['a value alone', 'hello', ['1: expected a map of settings']],
    ['a list', '- server: 1\n', ['1: expected a map of settings']],
    ['a number', '42', ['1: expected a map of settings']],
  ])('reports the line of %s', async (_, yaml, faults) => {
    expect(await faultsOf(yaml)).toEqual(faults);
  });

  it('reports several documents in one file', async () => {
    expect(await faultsOf('log: {}\n---\nserver: {}\n')).toEqual([
      expect.stringMatching(/^\d: column \d+: Source contains multiple documents/),
    ]);
  });

  it('reports the first ten syntax faults only', async () => {
    expect(await faultsOf(`log: {}\n${'}\n'.repeat(500)}`)).toHaveLength(10);
  });
});

describe('config check of setting names', () => {
  it.each<[name: string, yaml: string, faults: string[]]>([
    [
      'given twice',
      'log: { level: info }\nserver: {}\nlog: { level: warn }\nserver:\n  port: 1\n  port: 2',
      ['3: log: given twice; first on line 1', '4: server: given twice; first on line 2'],
    ],
    [
      'that JavaScript gives a meaning',
      '__proto__: { server: { port: 1 } }\nmodels: { constructor: {}, prototype: {} }\nserver: { "__proto__": 1 }',
      [
        '1: __proto__: this name cannot be used',
        '2: models.constructor: this name cannot be used',
        '2: models.prototype: this name cannot be used',
        '3: server.__proto__: this name cannot be used',
      ],
    ],
    [
      'that every object inherits',
      'toString: 1\nserver: { hasOwnProperty: 2 }',
      [
        expect.stringMatching(/^1: toString: unknown; expected one of server, dataDir/),
        expect.stringMatching(/^2: server.hasOwnProperty: unknown; expected one of host/),
      ],
    ],
    [
      'that are numbers, empty, or odd',
      '8787: 1\n"": 2\nnull: 3\n"a.b\\n": 4\n<<: { server: 1 }',
      [
        expect.stringMatching(/^1: \["8787"\]: unknown/),
        expect.stringMatching(/^2: \[""\]: unknown/),
        expect.stringMatching(/^3: null: unknown/),
        expect.stringMatching(/^4: \["a\.b\\n"\]: unknown/),
        expect.stringMatching(/^5: \["<<"\]: unknown/),
      ],
    ],
  ])('reports the line of %s', async (_, yaml, faults) => {
    expect(await faultsOf(yaml)).toEqual(faults);
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
