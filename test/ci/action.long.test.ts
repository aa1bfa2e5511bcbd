import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { photograph } from '../cli/photographs.ts';
import { onProcessEnd, ROOT, temporaryFolder } from '../oriel.ts';
import { type Checkout, commentsApi, pullRequest } from './pull-request.ts';
import { type JobOptions, runAction } from './runner.ts';

let small: Buffer;
let large: Buffer;
beforeAll(async () => {
  small = await photograph('jpeg');
  large = await photograph('jpeg', { width: 400, height: 300 });
});

/** To look for savings means to encode each image. */
const RULES = '--max-bytes 20KB\n  --max-width 300  \n--no-savings';

type Job = Partial<JobOptions> & { readonly workspace: string };

/** Installs once for all jobs. */
const installed = async () => {
  const temporary = mkdtempSync(join(tmpdir(), 'oriel-action-'));
  onProcessEnd(() => rmSync(temporary, { recursive: true }));
  const { steps } = await runAction({ workspace: temporary, temporary, inputs: {} });
  return { install: steps['install']! };
};
let done: ReturnType<typeof installed> | undefined;

async function run(job: Job) {
  done ??= installed();
  const inputs = { images: '.', rules: RULES };
  return runAction({ temporary: temporaryFolder(), inputs, done: await done, ...job });
}

/** A job of a pull request. */
async function runFor(
  { checkout, event, env }: ReturnType<typeof pullRequest>,
  { api, kind, ...job }: { api?: string; kind?: Checkout } & Partial<JobOptions> = {},
) {
  const all = { ...env, ...(api && { GITHUB_API_URL: api }), ...job.env };
  return run({ workspace: checkout(kind), event, ...job, env: all });
}

describe('the images of a pull request', () => {
  it.each<Checkout>(['default', 'fetch-depth: 0', 'ref: head'])(
    'are those that it changed, with actions/checkout and %s',
    async (kind) => {
      const change = { 'new.jpg': large, 'old.jpg': small, 'gone.jpg': null };
      const base = { 'old.jpg': large, 'kept.jpg': large, 'gone.jpg': large, 'later.jpg': small };
      const { steps, outputs, summary } = await runFor(
        pullRequest(base, change, [{ 'later.jpg': large }, { 'later-too.jpg': large }]),
        { kind, inputs: { images: '.', rules: RULES, comment: 'false' } },
      );
      expect(steps['check']!.log).toMatch(/^::error file=new\.jpg,title=oriel%3A max-bytes::/m);
      expect(steps['check']!.log).toMatch(/^2 problems; 2 files checked$/m);
      expect(steps).toMatchObject({
        check: { outcome: 'failure', code: 1, outputs: { code: '1' } },
        comment: { outcome: 'skipped' },
        run: { outcome: 'skipped' },
      });
      expect(outputs).toMatchObject({ check: '1', run: '' });
      expect(summary).toBe(readFileSync(outputs['markdown']!, 'utf8'));
      expect(summary).toMatch(/^\| `new\.jpg` \|.*>max-width: /m);
      expect(summary).toMatch(/^\| `old\.jpg` \| 77\.4 KB → 1\.28 KB \(-98 %\) \|/m);
      const { results } = JSON.parse(readFileSync(outputs['sarif']!, 'utf8')).runs[0];
      expect(results.map((one: { ruleId: string }) => one.ruleId)).toEqual([
        'max-bytes',
        'max-width',
      ]);
    },
  );

  it('are compared with a given base', async () => {
    const request = pullRequest({ 'kept.jpg': large }, { 'new.jpg': large });
    for (const [base, message] of [
      [request.event.pull_request.base.sha, '2 problems; 1 file checked'],
      ['main', '2 problems; 1 file checked'],
      // As for a new branch.
      ['0'.repeat(40), '4 problems; 2 files checked'],
      ['none', '--base none: no such commit in this clone'],
      ['--upload-pack=touch pwned', 'no such commit'],
      ['main:pwned', 'no such commit'],
    ] as const) {
      const workspace = request.checkout();
      const inputs = { images: '.', rules: RULES, base, comment: 'false' };
      const { steps } = await runFor(request, { workspace, inputs });
      expect(steps['check']!.log, base).toContain(message);
      expect(existsSync(join(workspace, 'pwned'))).toBe(false);
      const refs = spawnSync('git', ['for-each-ref'], { cwd: workspace, encoding: 'utf8' });
      expect(refs.stdout).not.toContain('pwned');
    }
  });

  it('are all images on a push', async () => {
    const request = pullRequest({ 'a.jpg': large }, { 'b.jpg': small });
    const { url, requests } = await commentsApi();
    const job = { event: { before: '0'.repeat(40) }, env: { GITHUB_REF: 'refs/heads/topic' } };
    const { steps, summary } = await runFor(request, { api: url, ...job });
    expect(steps['check']!.log).toContain('2 problems; 2 files checked');
    expect(summary).toContain('2 problems in 2 images');
    expect(steps['comment']).toMatchObject({ outcome: 'success', log: '' });
    expect(requests).toEqual([]);
  });

  it('have names, branches and titles that are never run', async () => {
    const names = [
      '$(touch pwned).jpg',
      '`touch pwned`.jpg',
      ";touch pwned;'.jpg",
      '--fix.jpg',
      '-rf.jpg',
      '::error::boo.jpg',
      '::stop-commands::x.jpg',
      '##[error]boo.jpg',
      'a\n::error::boo.jpg',
      '@team and <img src=x> | x.jpg',
      '-->.jpg',
    ];
    const request = pullRequest({}, Object.fromEntries(names.map((name) => [name, large])));
    const { url, comments } = await commentsApi();
    const workspace = request.checkout();
    const before = readdirSync(workspace).toSorted();
    const { steps, summary } = await runFor(request, { workspace, api: url });
    expect(readdirSync(workspace).toSorted()).toEqual(before);
    const { log } = steps['check']!;
    expect(log).toContain('22 problems; 11 files checked');
    expect(log.match(/^::error file=/gm)).toHaveLength(22);
    // A runner reads `::` commands at the start of lines, and `##[` commands anywhere in other lines.
    expect(log.replace(/^::error file=.*$/gm, '')).not.toMatch(/^\s*::|##\[/m);
    expect(comments).toHaveLength(1);
    // Names are code, in which nothing is markup or a mention.
    for (const text of [summary, comments[0]!.body.replace(/^.*\n/, '')]) {
      expect(text.replace(/`[^`\n]*`/g, '')).not.toMatch(/boo|team|img|touch/);
    }
  });

  it.each([
    ['a line that is no flag', 'max-bytes 20KB', 'rules: each line is a flag'],
    ['an unknown flag', '--max-weight 3', '--max-weight'],
    ['a command', '--max-bytes $(touch pwned)', '--max-bytes'],
  ])('with rules that have %s fail with the reason', async (_, rules, message) => {
    const workspace = pullRequest({ 'a.jpg': small }, {}).checkout();
    const { steps, outputs } = await run({ workspace, inputs: { images: 'a.jpg', rules } });
    expect(steps['check']).toMatchObject({ code: 2, log: expect.stringContaining(message) });
    expect(outputs).toMatchObject({ markdown: '' });
    expect(existsSync(join(workspace, 'pwned'))).toBe(false);
  });

  it('are found below the working directory, by rules in a file, in a checkout of another user', async () => {
    const files = { 'site/oriel-check.yaml': 'maxWidth: 300\n', 'site/my images/a.jpg': large };
    const request = pullRequest(files, { 'site/my images/b.jpg': large, 'c.jpg': large });
    const workspace = request.checkout();
    if (process.getuid?.() === 0) spawnSync('chown', ['-R', '65534', workspace]);
    const inputs = { images: '\n my images \n\n', 'working-directory': 'site' };
    const { steps } = await runFor(request, { workspace, inputs });
    expect(steps['check']!.log).toContain('::error file=site/my images/b.jpg,title=');
    expect(steps['check']!.log).toContain('1 problem; 1 file checked');
  });
});

describe('the comment', () => {
  const bad = () => pullRequest({ 'a.jpg': small }, { 'a.jpg': large });
  const stranger = (body: string) => ({
    ...{ id: 1, body, user: { type: 'User' }, author_association: 'NONE' },
  });

  it('is posted once and updated, whoever else writes its marker', async () => {
    const others = Array.from({ length: 100 }, () => stranger('hello'));
    const { url, requests, comments } = await commentsApi(others);
    const first = await runFor(bad(), { api: url });
    expect(first.steps['comment']).toMatchObject({ outcome: 'success', log: '' });
    expect(comments[100]!.body).toMatch(/^<!-- oriel check [0-9a-f]{16} -->\n### Images\n/);
    expect(comments[100]!.body.split('\n').slice(1).join('\n')).toBe(`${first.summary}`);
    comments[0]!.body = `${comments[100]!.body} forged`;
    const good = await runFor(pullRequest({ 'a.jpg': large }, { 'a.jpg': small }), {
      api: url,
    });
    expect(good.steps['check']!.code).toBe(0);
    expect(comments[100]!.body).toContain('0 problems in 1 image');
    expect(comments[100]!.body).toContain('| `a.jpg` | 77.4 KB → 1.28 KB (-98 %) |  |  |  |');
    const path = '/repos/team/site/issues';
    const list = [`GET ${path}/7/comments`, `GET ${path}/7/comments`];
    const writes = [`POST ${path}/7/comments`, `PATCH ${path}/comments/101`];
    expect(requests).toEqual([...list, writes[0], ...list, writes[1]]);
    expect(comments[0]!.body).toContain('forged');
    // Another job of the workflow has another comment.
    await runFor(bad(), { api: url, env: { GITHUB_JOB: 'other' } });
    expect(comments).toHaveLength(102);
  });

  it('is not posted where no image changed', async () => {
    const { url, requests } = await commentsApi();
    const { steps } = await runFor(pullRequest({ 'a.jpg': large }, {}), { api: url });
    expect(steps).toMatchObject({ check: { code: 0 }, comment: { code: 0, log: '' } });
    expect(requests).toHaveLength(1);
  });

  it('is left out where it cannot be written', async () => {
    const request = bad();
    const workspace = request.checkout();
    const temporary = temporaryFolder();
    const inputs = { images: '.', rules: RULES };
    const { steps: before } = await runFor(request, {
      ...{ workspace, temporary, inputs: { ...inputs, comment: 'false' } },
    });
    expect(before['check']!.code).toBe(1);
    const noPermission = '::notice title=Oriel::No comment: the token may not write';
    for (const [status, token, log] of [
      // Pull requests from forks.
      [403, {}, noPermission],
      [201, { token: 'x' }, noPermission],
      [500, {}, '::warning title=Oriel::No comment: GitHub answered 500.'],
      // GitHub cannot be reached.
      [null, {}, '::warning title=Oriel::No comment: GitHub answered 000.'],
      [201, { token: '' }, null],
    ] as const) {
      const { url, comments } = await commentsApi([], status ?? 500);
      const { steps } = await runFor(request, {
        ...{ workspace, api: status === null ? 'http://127.0.0.1:9' : url },
        inputs: { ...inputs, ...token },
        done: { install: before['install']!, check: before['check']! },
      });
      expect(steps['comment']!.outcome).toBe('success');
      expect(steps['comment']!.log).toEqual(log === null ? '' : expect.stringContaining(log));
      expect(comments).toEqual([]);
    }
  });

  it('has as much of a long report as GitHub takes', async () => {
    const names = Array.from({ length: 250 }, (_, index) => `${index}-${'x'.repeat(200)}.jpg`);
    const files = Object.fromEntries(names.map((name) => [name, large]));
    const { url, comments } = await commentsApi();
    const { steps } = await runFor(pullRequest({}, files), { api: url });
    expect(steps['comment']).toMatchObject({ code: 0, log: '' });
    const { body } = comments[0]!;
    expect(body.length).toBeLessThan(65_536);
    expect(body.split('\n').slice(-4, -1)).toEqual([
      expect.stringMatching(/^\| .* \|$/),
      '',
      'The job summary has the rest.',
    ]);
  });
});

describe('the command', () => {
  const ask = `fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + process.env.OPENAI_API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] }),
  }).then((response) => console.log('status', response.status));`;

  it('finds a daemon, after images with findings too, and without the secrets of other steps', async () => {
    const request = pullRequest({}, { 'a.jpg': large, 'ask.mjs': ask });
    const inputs = {
      images: '.',
      rules: RULES,
      run: 'node ask.mjs\nenv -0 | tr "\\0" "\\n" > seen',
    };
    const workspace = request.checkout();
    const { steps, outputs, summary } = await runFor(request, { workspace, inputs });
    expect(outputs).toMatchObject({ check: '1', run: '0' });
    expect(steps['run']!.log).toMatch(/^status 200$.*^sandbox-chat +1 /ms);
    expect(summary).toMatch(/### Images.*### oriel with.*sandbox-chat/s);
    const seen = readFileSync(join(workspace, 'seen'), 'utf8');
    expect(seen).not.toMatch(/token-of-job|^(COMMAND|REPLAY|TOKEN)=/m);
  });

  it('fails the step with the exit code of its first failing line', async () => {
    const inputs = { run: 'exit 3 | cat\necho after' };
    const { steps, outputs } = await run({ workspace: temporaryFolder(), inputs });
    expect(steps).toMatchObject({ check: { outcome: 'skipped' }, run: { code: 3 } });
    expect(steps['run']!.log).not.toContain('after');
    expect(outputs).toMatchObject({ check: '', run: '3' });
  });

  it('gets the folder of cassettes, and fails the step for misses', async () => {
    // In place of Oriel, because only a provider could have been recorded.
    const action = temporaryFolder();
    const binary = join(action, 'dist/bin/oriel.cjs');
    mkdirSync(dirname(binary), { recursive: true });
    const script = 'console.log(JSON.stringify(process.argv.slice(2))); process.exit(1);';
    writeFileSync(binary, `#!/usr/bin/env node\n${script}\n`, { mode: 0o755 });
    const inputs = { run: 'npm test', replay: 'my $(x) cassettes' };
    const job = { workspace: temporaryFolder(), action, done: {}, inputs };
    const { steps, outputs } = await run(job);
    const [, ...args] = JSON.parse(steps['run']!.log);
    expect(args.slice(0, 3)).toEqual(['--replay=my $(x) cassettes', '--', 'bash']);
    expect(args.at(-1)).toBe('npm test');
    expect(outputs).toMatchObject({ run: '1' });
  });

  it('runs in the working directory, and quotes stay as they are', async () => {
    const workspace = pullRequest({ 'app/x': '' }, {}).checkout();
    const inputs = { run: 'printf "%s|" \'a  b\' "$PWD"', 'working-directory': 'app' };
    const { steps } = await run({ workspace, inputs });
    expect(steps['run']!.log).toContain(`a  b|${join(workspace, 'app')}|`);
  });
});

describe('the installation', () => {
  it('names the version of Node that it needs', async () => {
    const bin = temporaryFolder();
    writeFileSync(join(bin, 'node'), '#!/bin/sh\nexit 1\n');
    chmodSync(join(bin, 'node'), 0o755);
    const env = { PATH: [bin, process.env['PATH']].join(delimiter) };
    const inputs = { run: 'true' };
    const { steps } = await run({ workspace: temporaryFolder(), done: {}, inputs, env });
    expect(steps).toMatchObject({ install: { code: 1 }, run: { outcome: 'skipped' } });
    expect(steps['install']!.log).toContain('::error title=Oriel::Node 20.19 or newer is required');
  });

  it('is that of the action, built once and found by later steps', async () => {
    const folder = temporaryFolder();
    const action = join(folder, 'action');
    for (const name of ['package.json', 'config']) {
      cpSync(join(ROOT, name), join(action, name), { recursive: true });
    }
    // In place of npm, which another test calls in a fresh clone.
    const made = `cp -R ${ROOT}/dist .; else ln -s ${ROOT}/node_modules .`;
    const script = `echo "$*" >> ${folder}/calls; if [ "$1" = run ]; then ${made}; fi`;
    writeFileSync(join(folder, 'npm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const job = {
      workspace: temporaryFolder(),
      action,
      done: {},
      env: { PATH: [folder, process.env['PATH']].join(delimiter) },
      inputs: { run: 'oriel --version && command -v oriel' },
    };
    const first = await run(job);
    expect(first.steps['run']!.log).toMatch(/^1\.\d+\.\d+\n\S+\/oriel\/oriel\n/);
    const second = await run(job);
    expect(second.steps).toMatchObject({ install: { log: '' }, run: { code: 0 } });
    const calls = 'ci --include=dev --ignore-scripts --no-audit --no-fund\nrun --silent build\n';
    expect(readFileSync(join(folder, 'calls'), 'utf8')).toBe(calls);
  });
});
