import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { handOver, oriel, shell, temporaryFolder } from '../../oriel.ts';
import { BLANK, configFile, faultsOf, resident } from '../configuration.ts';

const PROVIDERS = `
providers:
  openai: { kind: openai, baseUrl: https://openai.example/v1, apiKey: key }
  anthropic: { kind: anthropic, baseUrl: https://anthropic.example/v1 }
  sandbox: { kind: sandbox }
`.trim();

const URL_EXPECTED = 'expected an http or https URL without credentials, query and fragment';
const DURATION = 'a duration with its unit (ms, s, m, h, d)';
const PORT_EXPECTED = 'expected a port or a range of ports such as 1024-65535';
const DESTINATION_EXPECTED =
  'expected an IP address, a CIDR range such as 10.0.0.0/8, or a host name such as example.com for it and all names below it';
const HEADER_EXPECTED =
  'expected a header other than authorization, proxy-authorization, x-api-key, api-key, x-goog-api-key, accept-encoding, content-length, content-type, expect, host, connection, keep-alive, proxy-authenticate, proxy-connection, te, trailer, transfer-encoding, upgrade';
const SIZE = 'a size with its unit (B, KB, MB, GB, TB)';

/** One model on line 5 and below, after the providers. */
const model = (settings: string) => `${PROVIDERS}\nmodels:\n  m: { ${settings} }\n`;

describe('config check reports', () => {
  it.each<[name: string, yaml: string, faults: string[]]>([
    [
      'telemetry without a collector, or with values that it cannot have',
      'telemetry:\n  otlp: { sampling: 2, interval: 5, headers: { host: a }, attributes: { service.name: b } }',
      [
        '2: telemetry.otlp.endpoint is required: an http or https URL without credentials, query and fragment',
        '2: telemetry.otlp.headers.host: expected a header other than accept-encoding, content-length, content-type, expect, host, connection, keep-alive, proxy-authenticate, proxy-connection, te, trailer, transfer-encoding, upgrade as its name',
        '2: telemetry.otlp.sampling: expected a number from 0 to 1, received 2',
        '2: telemetry.otlp.interval: expected a duration with its unit (ms, s, m, h, d) from 1s to 1h, received 5',
        '2: telemetry.otlp.attributes["service.name"]: expected a name such as deployment.environment.name, other than service.name, as its name',
      ],
    ],
    [
      'settings of a bucket with values that they cannot have',
      'assets: { driver: s3, endpoint: "https://u:p@s3.example/x", prefix: ../x, timeout: 0s }',
      [
        '1: assets.endpoint: expected an http or https URL without path, credentials, query and fragment, received "https://***@s3.example/x"',
        '1: assets.prefix: expected names of letters, digits, . _ and - with slashes between them, received "../x"',
        '1: assets.timeout: expected a duration with its unit (ms, s, m, h, d) from 100ms to 1h, received "0s"',
      ],
    ],
    [
      'a bucket on the disk',
      'assets: { bucket: files }',
      ['1: assets.bucket: expected driver: s3 beside it'],
    ],
    [
      'a driver for a bucket without its name',
      'assets: { driver: s3 }',
      ['1: assets.bucket is required: the name of a bucket'],
    ],
    [
      'an IP address with the bucket in the host',
      'assets: { driver: s3, bucket: files, endpoint: "http://127.0.0.1:7480" }',
      ['1: assets.forcePathStyle: expected true with an endpoint that is an IP address'],
    ],
    [
      'a bucket without credentials',
      'assets: { driver: s3, bucket: files }',
      [
        '1: assets.accessKeyId: expected a key here, or AWS_ACCESS_KEY_ID in the environment',
        '1: assets.secretAccessKey: expected a key here, or AWS_SECRET_ACCESS_KEY in the environment',
      ],
    ],
    ['an unknown section', 'pol: 3', ['1: pol: unknown; did you mean pool?']],
    [
      'an unknown setting',
      'server:\n  banana: 1\n  publicURL: https://x.example',
      [
        '2: server.banana: unknown; expected one of host, port, publicUrl, trustProxy, grace, requestTimeout, sendTimeout, bodyLimit, maxConnections, cors, console, operations',
        '3: server.publicURL: unknown; did you mean publicUrl?',
      ],
    ],
    [
      'a value for a section',
      'server: here\nrouting: { timeouts: [5s] }',
      [
        '1: server: expected an object, received a text',
        '2: routing.timeouts: expected an object, received a list',
      ],
    ],
    [
      'a section for a value',
      'dataDir: { a: 1 }\nlog:\n  level: []',
      [
        '1: dataDir: expected a text, received an object',
        '3: log.level: expected one of fatal, error, warn, info, debug, trace, silent, received a list',
      ],
    ],
    [
      'numbers out of range',
      'server: { port: 65536 }\npool: { threads: 1.5 }\nrouting: { retries: -1 }\nlimits:\n  free:\n    rpm: .inf',
      [
        '1: server.port: expected an integer from 0 to 65535, received 65536',
        '2: pool.threads: expected an integer from 1 to 256, received 1.5',
        '3: routing.retries: expected an integer from 0 to 10, received -1',
        '6: limits.free.rpm: expected an integer from 1 to 1000000, received Infinity',
      ],
    ],
    [
      'durations and sizes without a unit, with a wrong one, or out of range',
      'server:\n  grace: 30\n  requestTimeout: 5 min\n  bodyLimit: 10\nlimits: { retention: 10000d }\nbatch: { memory: 64mb }',
      [
        `2: server.grace: expected ${DURATION} from 0s to 24d, received 30`,
        `3: server.requestTimeout: expected ${DURATION} from 1s to 24d, received "5 min"`,
        `4: server.bodyLimit: expected ${SIZE} from 1KB to 1GB, received 10`,
        `5: limits.retention: expected ${DURATION} from 1m to 3650d, received "10000d"`,
        `6: batch.memory: expected ${SIZE} from 1MB to 1TB, received "64mb"`,
      ],
    ],
    [
      'values that are not booleans',
      'metrics: { enabled: "yes" }\nnetwork: { allowPrivateAddresses: 1 }',
      [
        '1: metrics.enabled: expected true or false, received "yes"',
        '2: network.allowPrivateAddresses: expected true or false, received 1',
      ],
    ],
    [
      'invalid addresses and ports of network',
      [
        'network:',
        '  inputPorts: [0, 443, 1024-, 2000-1000, 80-70000, any, 8.5]',
        '  deny: [10.0.0.0/8, example.com, bücher.example, 10.0.0.0/33, 10.1, "*.example.com"]',
        '  allow: ["::1", fe80::1%eth0, http://a.example, a.example:80, 2001:db8::/129, ""]',
      ].join('\n'),
      [
        ...[0, 2, 3, 4, 5, 6].map((at) => `2: network.inputPorts[${at}]: ${PORT_EXPECTED}`),
        `3: network.deny[3]: ${DESTINATION_EXPECTED}`,
        '3: network.deny[4]: expected a text, received 10.1',
        `3: network.deny[5]: ${DESTINATION_EXPECTED}`,
        ...[1, 2, 3, 4, 5].map((at) => `4: network.allow[${at}]: ${DESTINATION_EXPECTED}`),
      ],
    ],
    [
      'a proxy that is not an address',
      'server:\n  trustProxy: [10.0.0.0/8, "::1", 10.0.0.0/33, proxy.example]',
      [
        '2: server.trustProxy[2]: expected an IP address or a CIDR range such as 10.0.0.0/8',
        '2: server.trustProxy[3]: expected an IP address or a CIDR range such as 10.0.0.0/8',
      ],
    ],
    [
      'a proxy setting of another kind',
      'server: { trustProxy: 1 }',
      [
        '1: server.trustProxy: expected true, false or a list of IP addresses and CIDR ranges, received 1',
      ],
    ],
    [
      'invalid URLs, and URLs with credentials or a query',
      'server: { publicUrl: "gateway.example" }\nproviders:\n  a: { kind: openai, baseUrl: "https://u:p@x.example/v1" }\n  b: { kind: oriel, baseUrl: "https://x.example/v1?k=1" }\n  c: { kind: oriel }',
      [
        `1: server.publicUrl: ${URL_EXPECTED}, received "gateway.example"`,
        `3: providers.a.baseUrl: ${URL_EXPECTED}, received "https://***@x.example/v1"`,
        `4: providers.b.baseUrl: ${URL_EXPECTED}, received "https://x.example/v1?***"`,
        `5: providers.c.baseUrl is required: ${URL_EXPECTED.replace('expected ', '')}`,
      ],
    ],
    [
      'settings that have no value',
      'dataDir:\nlog: { level: }',
      [
        '1: dataDir is required: a text',
        '2: log.level is required: one of fatal, error, warn, info, debug, trace, silent',
      ],
    ],
    [
      'credits that are not whole millionths',
      'owner: { credits: 0.0000001 }',
      [
        '1: owner.credits: expected credits from 0 to 1000000000 with at most six decimals, received 1e-7',
      ],
    ],
    [
      'an unknown kind of provider',
      'providers: { x: { kind: bedrock }, y: {}, z: { kind: sandbox, apiKey: a } }',
      [
        '1: providers.z.apiKey: unknown; expected one of kind, concurrency',
        '1: providers.x.kind: expected one of openai, anthropic, gemini, azure, oriel, sandbox, received "bedrock"',
        '1: providers.y.kind is required: one of openai, anthropic, gemini, azure, oriel, sandbox',
      ],
    ],
    [
      'headers, query, proxy, keys and timeouts of a provider that cannot be',
      `providers:
  x:
    kind: openai
    baseUrl: https://x.example/v1
    apiKeys: []
    headers:
      Authorization: Bearer a
      Transfer-Encoding: chunked
      X-A: "line\\nbreak"
    query: { "a b": c }
    proxy: socks5://proxy.example:1080
    timeouts: { connect: 5, never: 1s }
  y:
    kind: azure
    baseUrl: https://y.example/openai/deployments/gpt
    apiVersion: "2024"
    headers: { x-a: b, X-A: c }
    query: { api-version: "2024-10-21" }
`,
      [
        '5: providers.x.apiKeys: expected a list of 1 to 100 keys, received a list',
        `7: providers.x.headers.Authorization: ${HEADER_EXPECTED} as its name`,
        `8: providers.x.headers.Transfer-Encoding: ${HEADER_EXPECTED} as its name`,
        '9: providers.x.headers.X-A: expected printable ASCII characters, 4096 at most, without spaces around them, received "line\\nbreak"',
        '10: providers.x.query["a b"]: expected printable ASCII characters, 128 at most, as its name',
        '11: providers.x.proxy: expected an http or https URL without path, query and fragment, received "socks5://proxy.example:1080"',
        '12: providers.x.timeouts.never: unknown; expected one of connect, firstByte, idle, total',
        `12: providers.x.timeouts.connect: expected ${DURATION} from 1ms to 24d, received 5`,
        '15: providers.y.baseUrl: expected the URL of the resource, without /openai/deployments and what follows',
        '16: providers.y.apiVersion: expected preview, or a date such as 2024-10-21 or 2025-04-01-preview, received "2024"',
        '17: providers.y.headers: X-A: set twice; names of headers differ in more than their case',
        '18: providers.y.query.api-version: set apiVersion instead',
      ],
    ],
    [
      'an unknown type of model',
      model('type: txt, routes: []'),
      [
        '6: models.m.type: expected one of text, embedding, image, video, audio, transcription, moderation, received "txt"',
      ],
    ],
    [
      'a model without routes',
      `${PROVIDERS}\nmodels:\n  a: { type: text }\n  b: { type: image, routes: [] }\n  c: { type: video, routes: {} }`,
      [
        '6: models.a.routes is required: a list of one route at least',
        '7: models.b.routes: expected a list of one route at least, received a list',
        '8: models.c.routes: expected a list of one route at least, received an object',
      ],
    ],
    [
      'a route to an unknown provider',
      model(
        'type: text, routes: [{ provider: sandbox, model: a }, { provider: nowhere, model: b }]',
      ),
      [
        '6: models.m.routes[1].provider: expected one of openai, anthropic, sandbox, received "nowhere"',
      ],
    ],
    [
      'a route without any provider configured',
      'models: { m: { type: text, routes: [{ provider: x, model: y }] } }',
      ['1: models.m.routes[0].provider: expected a name under providers, received "x"'],
    ],
    [
      'a provider that does not support the type of model',
      model(
        'type: video, routes: [{ provider: openai, model: a }, { provider: anthropic, model: b }]',
      ),
      ['6: models.m.routes[1].provider: a provider of kind anthropic has no models of type video'],
    ],
    [
      'a dialect that a provider does not support',
      model(
        'type: text, routes: [{ provider: openai, model: a, dialect: messages }, { provider: openai, model: a, dialect: klingon }]',
      ),
      [
        '6: models.m.routes[1].dialect: expected one of chat, responses, messages, gemini, received "klingon"',
        '6: models.m.routes[0].dialect: expected one of chat, responses for a provider of kind openai, received "messages"',
      ],
    ],
    [
      'rules of another type',
      model('type: text, rules: native-size, routes: [{ provider: sandbox, model: a }]'),
      ['6: models.m.rules: expected one of fixed-reasoning, received "native-size"'],
    ],
    [
      'rules of a type without rules, and a price of another type',
      model(
        'type: audio, rules: native-size, price: { perImage: 1 }, routes: [{ provider: sandbox, model: a }]',
      ),
      [
        '6: models.m.rules: unknown; expected one of type, aliases, name, description, created, ownedBy, routes, price',
        '6: models.m.price.perImage: unknown; expected one of perRequest',
      ],
    ],
    [
      'tiers of prices out of order, without a price, and with values that they cannot have',
      model(
        'type: text, routes: [{ provider: sandbox, model: a }], price: { input: 1, tiers: [{ above: 200000, input: 2 }, { above: 200000, input: 3 }, { above: 300000 }, { above: 0, output: 1 }, { input: -1, perImage: 4 }] }',
      ),
      [
        '6: models.m.price.tiers[4].perImage: unknown; expected one of above, input, cachedInput, cacheWrite, cacheWrite1h, output',
        '6: models.m.price.tiers[3].above: expected an integer of at least 1, received 0',
        '6: models.m.price.tiers[4].above is required: an integer of at least 1',
        '6: models.m.price.tiers[4].input: expected credits from 0 to 1000000000 with at most six decimals, received -1',
        '6: models.m.price.tiers[1].above: expected more than the 200000 of the tier before it, received 200000',
        '6: models.m.price.tiers[2]: expected a price beside above: input, cachedInput, cacheWrite, cacheWrite1h or output',
        '6: models.m.price.tiers[3].above: expected more than the 300000 of the tier before it, received 0',
      ],
    ],
    [
      'tiers of prices that are no list',
      model(
        'type: text, routes: [{ provider: sandbox, model: a }], price: { tiers: { above: 5, input: 1 } }',
      ),
      ['6: models.m.price.tiers: expected a list of tiers, each with above, received an object'],
    ],
    [
      'reasoning that contradicts itself',
      model(
        'type: text, routes: [{ provider: sandbox, model: a }], reasoning: { supported_efforts: [low, huge], default_effort: high, can_disable: maybe }',
      ),
      [
        '6: models.m.reasoning.supported_efforts[1]: expected one of none, minimal, low, medium, high, xhigh, max, received "huge"',
        '6: models.m.reasoning.can_disable: expected true or false, received "maybe"',
        '6: models.m.reasoning.default_effort: expected one of low, huge, received "high"',
      ],
    ],
    [
      'efforts that fixed reasoning does not support',
      model(
        'type: text, rules: fixed-reasoning, routes: [{ provider: sandbox, model: a }], reasoning: { supported_efforts: [none, low], default_effort: low, can_disable: true }',
      ),
      [
        '6: models.m.reasoning.supported_efforts[0]: expected one of low, high, max with fixed-reasoning, received "none"',
        '6: models.m.reasoning.can_disable: expected one of false with fixed-reasoning, received true',
      ],
    ],
    [
      'a date that does not exist',
      model('type: text, created: 2026-02-30, routes: [{ provider: sandbox, model: a }]'),
      ['6: models.m.created: expected a date such as 2026-01-31, received "2026-02-30"'],
    ],
    [
      'names with invalid characters',
      'providers: { "my provider": { kind: sandbox } }\nmodels:\n  "a,b": { type: image, routes: [{ provider: "my provider", model: x }] }',
      [
        '1: providers["my provider"]: expected letters, digits and . _ : / @ + -, 128 at most, as its name',
        '3: models["a,b"]: expected letters, digits and . _ : / @ + -, one * at most, 128 in all, as its name',
      ],
    ],
    [
      'faults between settings beside faults of single settings',
      'server: { port: x }\nproviders: { a: { kind: sandbox, typo: 1 } }\nmodels: { m: { type: text, routes: [{ provider: b, model: }] } }',
      [
        '1: server.port: expected an integer from 0 to 65535, received "x"',
        '2: providers.a.typo: unknown; expected one of kind, concurrency',
        '3: models.m.routes[0].model is required: a text',
        '3: models.m.routes[0].provider: expected one of a, received "b"',
      ],
    ],
  ])('%s', async (_, yaml, faults) => {
    expect(await faultsOf(yaml)).toEqual(faults);
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
    expect(await check([])).toBe(good('no file, the defaults', 9));
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
