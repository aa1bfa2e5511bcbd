import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { delimiter, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { photograph } from '../cli/photographs.ts';
import { listening } from '../fixtures/server.ts';
import { ROOT, startProgram, temporaryFolder } from '../oriel.ts';
import { blocks } from './page.ts';
import { pullRequest } from './pull-request.ts';
import { runAction } from './runner.ts';

let small: Buffer;
let large: Buffer;
beforeAll(async () => {
  small = await photograph('jpeg');
  large = await photograph('jpeg', { width: 2600, height: 30 });
});

/** A pull request of a project with the test of the page. */
function project(image: Buffer) {
  const [test] = blocks('js', 'A test against a model') as [string];
  const scripts = { test: 'node --test chat.test.mjs' };
  const manifest = { name: 'site', version: '1.0.0' };
  const base = {
    'package.json': JSON.stringify({ ...manifest, scripts }),
    'package-lock.json': JSON.stringify({ ...manifest, lockfileVersion: 3, packages: { '': {} } }),
    'chat.test.mjs': test,
    'public/old.jpg': large,
  };
  return pullRequest(base, { 'public/new.jpg': image });
}

/** Runs lines in bash, in which `oriel` is the built command. */
async function bash(script: string, cwd: string, env: Record<string, string | undefined> = {}) {
  const bin = temporaryFolder();
  symlinkSync(join(ROOT, 'dist/bin/oriel.cjs'), join(bin, 'oriel'));
  const PATH = [bin, env['PATH'] ?? process.env['PATH']].join(delimiter);
  const own = { ORIEL_CONFIG: undefined, GITHUB_STEP_SUMMARY: undefined, ...env, PATH };
  return startProgram('bash', ['-eo', 'pipefail', '-c', `exec 2>&1\n${script}`], { cwd, env: own })
    .ended;
}

it.each([
  ['passes with good images', 0],
  ['fails with a wide image', 1],
])('the block for GitHub %s', async (_, check) => {
  const { checkout, event, env } = project(check === 0 ? small : large);
  const [block] = blocks('yaml', 'GitHub') as [string];
  const all = parse(block).jobs.oriel.steps[1].with;
  // A test of the action runs a command after images with findings.
  const inputs = check === 0 ? all : { ...all, run: '' };
  const job = { workspace: checkout(), temporary: temporaryFolder(), event, env, inputs };
  const { steps, outputs } = await runAction(job);
  expect(outputs, JSON.stringify(steps)).toMatchObject({ check: String(check) });
  if (check === 0) expect(steps['run']!.log).toMatch(/^sandbox-chat +1 /m);
});

describe('the block for GitLab', () => {
  const [block] = blocks('yaml', 'GitLab') as [string];
  const { default: common, images, tests } = parse(block);

  it.each([
    ['passes with good images', 0],
    ['fails with a wide image', 1],
  ])('%s', async (_, status) => {
    const { checkout, event } = project(status === 0 ? small : large);
    const workspace = checkout('fetch-depth: 0');
    const variables = { CI_MERGE_REQUEST_DIFF_BASE_SHA: event.pull_request.base.sha };
    const run = await bash(images.script.join('\n'), workspace, variables);
    expect(run.status, run.out).toBe(status);
    const report = readFileSync(join(workspace, images.artifacts.reports.junit), 'utf8');
    expect(report).toContain(`tests="1" failures="${status}"`);
    expect(images.rules).toEqual([{ if: '$CI_MERGE_REQUEST_DIFF_BASE_SHA' }]);
  });

  it('runs the tests', async () => {
    const run = await bash(tests.script.join('\n'), project(small).checkout());
    expect(run.status, run.out).toBe(0);
    expect(run.out).toMatch(/^sandbox-chat +1 /m);
  });

  it('installs Oriel by the commands of the README', () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const [, install] = /^\$ (npm ci && npm run build && npm install --global \.)/m.exec(readme)!;
    expect(common.before_script.at(-1)).toBe(`(cd "$HOME/oriel" && ${install})`);
  });
});

describe('the blocks for a shell', () => {
  it('of any pipeline', async () => {
    const [script] = blocks('sh', 'Plain shell') as [string];
    const good = await bash(script, project(small).checkout('fetch-depth: 0'));
    expect(good.status, good.out).toBe(0);
    expect(good.out).toMatch(/^no problems; 1 file checked$.*^sandbox-chat +1 /ms);
    const bad = await bash(script, project(large).checkout('fetch-depth: 0'));
    expect(bad.status, bad.out).toBe(1);
  });

  it('with rules in a file', async () => {
    const workspace = project(large).checkout();
    writeFileSync(join(workspace, 'oriel-check.yaml'), blocks('yaml', 'Rules for images')[0]!);
    const run = await bash(blocks('sh', 'Rules for images')[0]!, workspace);
    expect(run.status, run.out).toBe(0);
    expect(run.out).toMatch(/^no problems; 2 files checked; 2 files repaired$/m);
    expect(existsSync(join(workspace, 'report.md'))).toBe(true);
  });

  it('with a test against the sandbox, and with recorded answers of a provider', async () => {
    const workspace = project(small).checkout();
    const [sandbox] = blocks('sh', 'A test against a model') as [string];
    const first = await bash(sandbox, workspace);
    expect(first.status, first.out).toBe(0);

    let requests = 0;
    const provider = createServer((_, response) => {
      requests += 1;
      const message = { role: 'assistant', content: 'Hi' };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      const answer = { id: 'x', object: 'chat.completion', created: 1, model: 'x', choices };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer));
    });
    const baseUrl = `${await listening(provider)}/v1`;
    const config = {
      providers: { mine: { kind: 'openai', baseUrl, apiKey: 'secret' } },
      models: { 'gpt-5-mini': { type: 'text', routes: [{ provider: 'mine', model: 'x' }] } },
    };
    writeFileSync(join(workspace, 'oriel.yaml'), JSON.stringify(config));
    const [recorded] = blocks('sh', 'Recorded answers') as [string];
    const run = await bash(recorded, workspace);
    expect(run.status, run.out).toBe(0);
    expect(run.out.match(/^gpt-5-mini +1 /gm)).toHaveLength(2);
    expect(run.out).toContain('no secret found');
    expect(requests).toBe(1);

    const test = readFileSync(join(workspace, 'chat.test.mjs'), 'utf8');
    writeFileSync(join(workspace, 'chat.test.mjs'), test.replace("'Hello'", "'Goodbye'"));
    const changed = await bash(recorded.trim().split('\n').at(-1)!, workspace, {
      MODEL: 'gpt-5-mini',
    });
    expect(changed.status, changed.out).toBe(1);
    expect(changed.out).toContain('content: recorded "Hello", requested "Goodbye"');
    expect(requests).toBe(1);
  });
});
