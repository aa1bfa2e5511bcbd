import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../fixtures/until.ts';
import { ROOT, type Run, type RunOptions, start, temporaryFolder, words } from '../../oriel.ts';
import { HAS_TERMINAL, typed } from '../in-terminal.ts';
import { printed } from '../printed.ts';

/** `oriel with` in a folder without a configuration. Its files for the time of a run are in `tmp`. */
function startWith(args: readonly string[], { env, ...options }: RunOptions = {}) {
  const tmp = temporaryFolder();
  const own = { ORIEL_CONFIG: undefined, GITHUB_STEP_SUMMARY: undefined, TMPDIR: tmp, ...env };
  const cwd = temporaryFolder();
  return { tmp, cwd, ...start(['with', ...args], { cwd, env: own, ...options }) };
}

/** Runs it to its end, at which nothing is left behind. */
async function runWith(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const { tmp, ended } = startWith(args, options);
  const run = await ended;
  expect(readdirSync(tmp)).toEqual([]);
  return run;
}

/** A script that asks the daemon by plain requests: model and prompt, or a path and a JSON body. */
const asking = (...requests: readonly (readonly [string, unknown])[]) => [
  process.execPath,
  '-e',
  `const { ORIEL_URL: url, ORIEL_API_KEY: key } = process.env;
  (async () => {
    for (const [path, body] of ${JSON.stringify(requests)}) {
      const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' };
      const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      console.log(answer.status, await answer.text());
    }
  })();`,
];

const chat = (model: string, content: string): readonly [string, unknown] => [
  '/v1/chat/completions',
  { model, messages: [{ role: 'user', content }] },
];

describe('the command', () => {
  const file = (name: string) => join(ROOT, 'test', 'fixtures', name);

  it.each([
    ['that a signal ends', ['sh', '-c', 'kill -KILL $$'], 137, ''],
    [
      'that does not exist',
      ['no-such-command'],
      127,
      '"no-such-command": there is no such command',
    ],
    ['that is no program', [file('.')], 126, ': it is not executable'],
    ['that is empty', [''], 2, 'the command after -- is empty'],
  ] as const)('%s gives its exit code', async (_, command, status, message) => {
    const run = await runWith(['--', ...command]);
    expect(run.status).toBe(status);
    expect(run.out).toBe('');
    expect(run.stderr).toContain(message);
  });

  it('has standard input and output and flags for itself, and finds the daemon by the variables of clients', async () => {
    const set = {
      GOOGLE_API_KEY: 'real',
      OPENAI_API_KEY: 'real',
      HTTP_PROXY: 'http://127.0.0.1:9',
    };
    const script = 'echo "$0 $*"; cat; "$NODE" -p "JSON.stringify(process.env)"';
    const { out, stderr } = await runWith(['sh', '-c', script, '--json', '--', '-x'], {
      input: 'text\n',
      env: {
        ...{ ...set, GOOGLE_GENAI_USE_VERTEXAI: 'true', NO_PROXY: 'a.example' },
        NODE: process.execPath,
      },
    });
    const [flags, input, variables] = out.split('\n');
    expect([flags, input]).toEqual(['--json -- -x', 'text']);
    expect(stderr).toMatch(/^oriel: no requests; .*\n$/);
    const env = JSON.parse(variables!) as Readonly<Record<string, string>>;
    const { ORIEL_URL: url, ORIEL_API_KEY: key } = env;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(key).toMatch(/^sk-oriel-\w{43}$/);
    expect(env).toMatchObject({
      ...{ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key, ANTHROPIC_BASE_URL: url },
      ...{ ANTHROPIC_API_KEY: key, ANTHROPIC_AUTH_TOKEN: key, GOOGLE_GEMINI_BASE_URL: url },
      ...{ GEMINI_API_KEY: key, NO_PROXY: 'a.example,127.0.0.1' },
    });
    const others = ['GOOGLE_API_KEY', 'GOOGLE_GENAI_USE_VERTEXAI', 'UV_THREADPOOL_SIZE'];
    expect(Object.keys(env).filter((name) => others.includes(name))).toEqual([]);
  });

  it('uses the official clients as they are', async () => {
    const script = `
      import OpenAI from 'openai';
      import Anthropic from '@anthropic-ai/sdk';
      const messages = [{ role: 'user', content: 'Hello' }];
      const openai = new OpenAI();
      const chat = await openai.chat.completions.create({ model: 'sandbox-chat', messages });
      const response = await openai.responses.create({ model: 'sandbox-chat', input: 'Hello' });
      const request = { model: 'sandbox-chat', max_tokens: 99, messages };
      const clients = [new Anthropic(), new Anthropic({ apiKey: null })];
      const answers = await Promise.all(clients.map((one) => one.messages.create(request)));
      // As Google's client reads its variables.
      const { GOOGLE_GEMINI_BASE_URL: base, GEMINI_API_KEY: key } = process.env;
      const google = await fetch(base + '/v1beta/models/sandbox-chat:generateContent', {
        method: 'POST',
        headers: { 'x-goog-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ contents: [{ parts: [{ text: 'Hello' }] }] }),
      });
      const [candidate] = (await google.json()).candidates;
      const texts = [chat.choices[0].message.content, response.output_text];
      texts.push(...answers.map(({ content }) => content[0].text), candidate.content.parts[0].text);
      console.log(JSON.stringify(texts));`;
    const command = [process.execPath, '--input-type=module', '-e', script];
    // The clients are found from the folder of the repository.
    const run = await runWith(['--json', '--', ...command], { cwd: ROOT });
    const text = 'This is the sandbox: no model read this. You said: Hello';
    expect(JSON.parse(run.out)).toEqual(Array.from({ length: 5 }, () => text));
    const report = JSON.parse(run.stderr.trimEnd().split('\n').at(-1)!) as object;
    expect(report).toMatchObject({ status: 0, requests: 5, failed: 0 });
  });
});

describe('the report', () => {
  const requests = [
    chat('sandbox-chat', 'Hello'),
    chat('sandbox-chat', 'sandbox:fail=rate_limit'),
    chat('gpt|<b>', 'Hello'),
    chat('gpt|<b>', 'Hello'),
    ['/v1/embeddings', { model: 'sandbox-embedding', input: 'a b' }],
    ['/v1/moderations', { input: 'a' }],
    ['/v1/moderations', { input: 'sandbox:fail=rate_limit' }],
    [
      '/v1/audio/speech',
      { model: 'sandbox-audio', input: 'Hi', voice: 'alloy', response_format: 'wav' },
    ],
    ['/v1/messages', { model: 'sandbox-chat', max_tokens: -1, messages: [] }],
  ] as const;

  it('has requests, failures, tokens and credits by model', async () => {
    const summary = join(temporaryFolder(), 'summary.md');
    writeFileSync(summary, 'earlier\n');
    const run = await runWith(['--', ...asking(...requests)], {
      env: { GITHUB_STEP_SUMMARY: summary },
    });
    expect(run.status).toBe(0);
    const table = run.stderr.trimEnd().split('\n');
    expect(table.map((line) => line.split(/ {2,}/))).toEqual([
      ['MODEL', 'REQUESTS', 'FAILED', 'INPUT', 'OUTPUT', 'CREDITS', 'MISSES'],
      ['gpt|<b>', '2', '2', '0', '0', '0', '0'],
      ['sandbox-audio', '1', '0', '0', '0', '0.01', '0'],
      ['sandbox-chat', '3', '2', '5', '16', '0.000069', '0'],
      ['sandbox-embedding', '1', '0', '2', '0', '0.000001', '0'],
      ['sandbox-moderation', '2', '1', '0', '0', '0.001', '0'],
      ['total', '9', '5', '7', '16', '0.01107', '0'],
      ['2 x 429 sandbox_failure: the sandbox was asked to fail: rate_limit'],
      ['2 x 404 model_not_found: there is no model "gpt|<b>"'],
      [expect.stringMatching(/^1 x 400 /)],
    ]);
    const markdown = readFileSync(summary, 'utf8');
    expect(markdown).toMatch(/^earlier\n### oriel with\n\n\| Model \| Requests \|/);
    expect(markdown).toContain('\n| sandbox-chat | 3 | 2 | 5 | 16 | 0.000069 | 0 |\n');
    expect(markdown).not.toContain('<b>');
    expect(markdown).not.toContain('gpt|');
  });

  it('goes to a file, as JSON, and the log to another, also with --deterministic', async () => {
    const folder = temporaryFolder();
    const [report, log] = [join(folder, 'report.json'), join(folder, 'log')];
    const flags = words`--json --report ${report} --log ${log} --deterministic`;
    const run = await runWith([...flags, '--', ...asking(...requests.slice(0, 4))]);
    expect(run.stderr).toBe('');
    // The identifiers and the time of --deterministic.
    expect(run.out).toMatch(/^200 .*"id":"chatcmpl-\w{29}".*"created":1767225600,/);
    const totals = { requests: 4, failed: 3, inputTokens: 5, outputTokens: 16, misses: 0 };
    expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({
      ...{ status: 0, ...totals, missed: [] },
      models: [
        { model: 'gpt|<b>', failed: 2 },
        { model: 'sandbox-chat', ...totals, requests: 2, failed: 1 },
      ],
      failures: [
        { status: 404, code: 'model_not_found', count: 2 },
        { status: 429, count: 1 },
      ],
    });
    const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
    const logged = lines.map((line) => JSON.parse(line) as { readonly path?: string });
    expect(logged.filter(({ path }) => path === '/v1/chat/completions')).toHaveLength(4);
  });

  it('that cannot be written is a message, and a log stops the start', async () => {
    const missing = join(temporaryFolder(), 'no', 'file');
    const env = { GITHUB_STEP_SUMMARY: missing };
    const run = await runWith(['--report', missing, '--', 'sh', '-c', 'exit 3'], { env });
    expect(run.status).toBe(3);
    expect(run.stderr).toMatch(/^(oriel: \S+file: cannot be written: ENOENT.*\n){2}$/);
    const echo = ['--', 'echo', 'ran'];
    const noFolder = { env: { TMPDIR: missing, GITHUB_STEP_SUMMARY: undefined } };
    for (const refused of [
      await runWith(['--log', missing, ...echo]),
      await runWith(echo, noFolder),
    ]) {
      expect([refused.status, refused.out]).toEqual([1, '']);
      expect(refused.stderr).toMatch(/^oriel: \S+file: cannot be written: ENOENT/);
    }
  });
});

describe('signals', () => {
  it('are passed on', async () => {
    const traps = "trap 'echo INT' INT; trap 'echo TERM; exit 9' TERM";
    const running = startWith(['--', 'sh', '-c', `${traps}; echo; while :; do sleep 0.02; done`]);
    expect(await printed(running, 1)).toBe(true);
    running.child.kill('SIGINT');
    expect(await printed(running, 1)).toBe(true);
    running.child.kill('SIGTERM');
    const run = await running.ended;
    expect([run.status, run.out]).toEqual([9, '\nINT\nTERM\n']);
    expect(readdirSync(running.tmp)).toEqual([]);
  });

  it('that kill it leave a folder, which the next run removes', async () => {
    const { tmp, ended } = startWith(['--', 'sh', '-c', 'kill -KILL $PPID']);
    await ended;
    expect(readdirSync(tmp)).toEqual([expect.stringMatching(/^oriel-with-\w+-\d+-/)]);
    await runWith(['--', 'true'], { env: { TMPDIR: tmp } });
    expect(readdirSync(tmp)).toEqual([]);
  });

  it('of a start leave nothing behind', async () => {
    const running = startWith(['--', 'echo', 'ran']);
    // The folder is made before the daemon starts.
    await until(() => readdirSync(running.tmp).length > 0);
    running.child.kill('SIGTERM');
    const run = await running.ended;
    expect([run.status, run.out]).toEqual([143, '']);
    expect(readdirSync(running.tmp)).toEqual([]);
  });

  it.runIf(HAS_TERMINAL).each([
    ['reach the command', '', 'interrupted', 1],
    ['are not sent again to a command that the terminal does not reach', 'setsid', '^C', 0],
  ])('of a terminal %s', async (_, prefix, shown, count) => {
    const tmp = temporaryFolder();
    const script = join(temporaryFolder(), 'count.cjs');
    writeFileSync(
      script,
      `process.on('SIGINT', () => console.log('interrupted'));
      let lines = 0;
      process.stdin.on('data', () => (lines === 3 ? process.exit(5) : console.log('line', ++lines)));
      console.log('ready');`,
    );
    const run = await typed(
      `oriel with -- ${prefix} "$NODE" ${script}; echo "status $?"`,
      [
        ['ready', '\u0003'],
        [shown, '\n'],
        ...[1, 2, 3].map((line) => [`line ${line}`, '\n'] as const),
      ],
      { env: { TMPDIR: tmp, ORIEL_CONFIG: undefined }, cwd: temporaryFolder() },
    );
    expect(run.out.split('interrupted')).toHaveLength(count + 1);
    expect(run.out).toContain('status 5');
    expect(readdirSync(tmp)).toEqual([]);
  });
});

describe('a configuration', () => {
  it('gives models, but neither its store nor its listener is used', async () => {
    const cwd = temporaryFolder();
    writeFileSync(
      join(cwd, 'oriel.yaml'),
      `dataDir: ./data
store: { driver: postgres, url: "\${NO_DATABASE}" }
assets: { driver: s3, bucket: files, endpoint: "\${NO_BUCKET}" }
limits: { shared: "\${NO_REDIS}", paid: { rpm: 1 } }
telemetry: { otlp: { endpoint: "\${NO_COLLECTOR}" } }
server: { host: 203.0.113.1, port: 1, publicUrl: "\${NO_URL}", operations: { port: 1 } }
owner: { credits: 0 }
providers: { local: { kind: sandbox } }
models: { mine: { type: text, routes: [{ provider: local, model: chat }], price: { input: 1 } } }
`,
    );
    const run = await runWith(['--', ...asking(chat('mine', 'Hi'), chat('mine', 'Hi'))], { cwd });
    expect(run.stderr).toMatch(/^MODEL .*\nmine +2 +0 /);
    expect(run.status).toBe(0);
    expect(readdirSync(cwd)).toEqual(['oriel.yaml']);
  });

  it('with an error stops the start', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'oriel.yaml'), 'models: { mine: { type: text } }');
    const run = await runWith(['--', 'echo', 'ran'], { cwd });
    expect([run.status, run.out]).toEqual([1, '']);
    expect(run.stderr).toContain('oriel.yaml:1: models.mine.routes');
  });
});
