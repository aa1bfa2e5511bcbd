/**
 * Runs coding agents of the npm registry against the built daemon, each as its section in src/clients/README.md
 * says, and reports whether each finished its task. Requires Node 22.18 or newer, which runs TypeScript and which
 * the agents need.
 *
 *     npm run build
 *     node test/text/agents/lab/main.ts --folder /tmp/lab                     installs and runs all of them
 *     node test/text/agents/lab/main.ts --folder /tmp/lab --agent codex-chat --upstream messages
 *     node test/text/agents/lab/main.ts --folder /tmp/lab --record            writes fixtures too
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { filled } from '../../../../src/clients/clients.ts';
import { AZURE_KEY, DEPLOYMENTS, resourceOf, startAzureUpstream } from '../../azure-upstream.ts';
import { type DialectName, startMockUpstream } from '../../mock-upstream.ts';
import { FIXTURES, listedTask, readFixture } from '../fixture.ts';
import { PromptCache } from '../prompt-cache.ts';
import { blocksOf } from '../readme-section.ts';
import { scriptedTurn, taskOn } from '../scripted-model.ts';
import { AGENTS, type Agent } from './agents.ts';
import { startRecorder } from './recorder.ts';
import { Scrubber } from './scrub.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const OWNER_KEY = 'oriel_test_owner_key_000000000000';
const BINARY = join(ROOT, 'dist/bin/oriel.cjs');
const TIMEOUT = 180_000;

const UPSTREAMS = [
  ...['chat', 'responses', 'messages', 'messages-marked', 'gemini', 'azure', 'azure-responses'],
  'sandbox',
] as const;

const { values } = parseArgs({
  options: {
    folder: { type: 'string' },
    agent: { type: 'string', multiple: true },
    upstream: { type: 'string', multiple: true },
    record: { type: 'boolean', default: false },
  },
});
if (values.folder === undefined)
  throw new Error('--folder: expected a folder outside of the repository');
const folder = resolve(values.folder);
mkdirSync(folder, { recursive: true });

/** The folder with the executables of an agent's package, installed on first use. */
async function installed({ package: name, version }: Agent): Promise<string> {
  const home = join(folder, `${name.replaceAll('/', '+')}@${version}`);
  const bin = join(home, 'node_modules', '.bin');
  if (existsSync(bin)) return bin;
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'package.json'), '{ "private": true }');
  const install = ['install', '--no-audit', '--no-fund', `${name}@${version}`];
  const { status, output } = await run('npm', install, home, process.env);
  if (status !== 0) throw new Error(`npm install ${name}@${version}: ${output}`);
  return bin;
}

interface Ended {
  readonly status: number | null;
  readonly output: string;
}

async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<Ended> {
  const child = spawn(command, args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT,
    killSignal: 'SIGKILL',
  });
  let output = '';
  child.stdout.on('data', (text: Buffer) => {
    output += text.toString();
  });
  child.stderr.on('data', (text: Buffer) => {
    output += text.toString();
  });
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, output };
}

/** A model that cannot do all that agents ask for: it does not reason, and its answers are short. */
function textModel(
  provider: string,
  model: string,
  dialect?: DialectName,
  promptCaching = 'off',
): object {
  const routes = [{ provider, model, promptCaching, ...(dialect && { dialect }) }];
  return { type: 'text', routes, maxOutputTokens: 8000 };
}

function configuration(upstreamUrl: string, azureUrl: string): object {
  const remote = (kind: string) => ({ kind, baseUrl: upstreamUrl, apiKey: 'sk-upstream' });
  const [chat = '', reasoner = ''] = DEPLOYMENTS;
  const models: Record<string, object> = {};
  for (const prefix of ['', 'gpt-5.5-', 'gpt-6.1-sol-']) {
    const add = (to: string, ...settings: Parameters<typeof textModel>) => {
      models[`${prefix}to-${to}`] = textModel(...settings);
    };
    add('chat', 'openai', 'chat', 'chat');
    add('responses', 'openai', 'responses', 'responses');
    add('messages', 'anthropic', 'messages', 'messages');
    add('messages-marked', 'anthropic', 'messages', 'messages', 'auto');
    add('gemini', 'gemini', 'gemini-3-pro');
    add('azure', 'azure', chat);
    add('azure-responses', 'azure', reasoner, 'responses');
    add('sandbox', 'sandbox', 'chat');
  }
  return {
    owner: { credits: 1_000_000 },
    providers: {
      openai: remote('openai'),
      anthropic: remote('anthropic'),
      gemini: { ...remote('gemini'), baseUrl: upstreamUrl.replace(/v1$/, 'v1beta') },
      azure: {
        kind: 'azure',
        baseUrl: azureUrl,
        apiKey: AZURE_KEY,
        apiVersion: '2024-10-21',
      },
      sandbox: { kind: 'sandbox' },
    },
    models,
  };
}

interface Daemon {
  readonly url: string;
  /** Of an account that does not pay the providers: the owner may use more. */
  readonly key: string;
  stop(): void;
}

function newKey(data: string): string {
  const command = (...args: string[]) =>
    execFileSync(process.execPath, [BINARY, ...args, '--data', data], {
      cwd: data,
      encoding: 'utf8',
    });
  command('accounts', 'create', 'agents', '--plan', 'paid', '--credits', '1000000');
  return command('keys', 'create', '--account', 'agents').trim();
}

async function startDaemon(config: object): Promise<Daemon> {
  const data = mkdtempSync(join(folder, 'data-'));
  writeFileSync(join(data, 'oriel.yaml'), JSON.stringify(config));
  const args = [BINARY, 'serve', '--port', '0', '--data', data, '--log-format', 'json'];
  const daemon = spawn(process.execPath, args, {
    cwd: data,
    env: { ...process.env, ORIEL_BOOTSTRAP_KEY: OWNER_KEY },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: daemon.stdout })) {
    const { msg, url } = JSON.parse(line) as { msg: string; url?: string };
    if (msg === 'ready' && url !== undefined) {
      daemon.stdout.resume();
      try {
        return { url, key: newKey(data), stop: () => daemon.kill() };
      } catch (error) {
        daemon.kill();
        throw error;
      }
    }
  }
  throw new Error('the daemon did not start');
}

/** Does the task once in a new folder. */
async function play(
  agent: Agent,
  upstream: string,
  server: string,
  key: string,
): Promise<Ended & { work: string }> {
  const bin = await installed(agent);
  const home = realpathSync(mkdtempSync(join(folder, `${agent.name}-${upstream}-`)));
  const work = join(home, 'work');
  mkdirSync(work);
  const file = join(work, 'notes.txt');
  writeFileSync(file, 'The sky is blue.\nThe grass is green.\n');
  const connection = { url: server, key, model: `to-${upstream}` };
  const commands: string[] = [];
  for (const block of blocksOf(agent.section)) {
    const { path: name, text } = filled(block, connection);
    const adapted = agent.replace ? text.replaceAll(...agent.replace) : text;
    if (name === null)
      commands.push(
        ...adapted
          .replace(...agent.task)
          .trim()
          .split('\n'),
      );
    else {
      const path = name.startsWith('~/') ? join(home, name.slice(2)) : join(work, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, adapted);
    }
  }
  const env = {
    PATH: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter),
    HOME: home,
    TASK: upstream === 'sandbox' ? listedTask(readFixture(agent.name), work) : taskOn(file),
    LANG: 'C.UTF-8',
    NO_COLOR: '1',
  };
  await run('git', ['init', '-q'], work, env);
  return { ...(await run('bash', ['-c', commands.join(' && ')], work, env)), work };
}

const upstream = await startMockUpstream();
const azure = await startAzureUpstream();
const daemon = await startDaemon(configuration(upstream.url, resourceOf(azure)));
const recorder = await startRecorder(daemon.url);
let failures = 0;
try {
  for (const agent of AGENTS) {
    if (values.agent && !values.agent.includes(agent.name)) continue;
    for (const name of UPSTREAMS) {
      if (values.upstream && !values.upstream.includes(name)) continue;
      const cache = new PromptCache();
      upstream.play(cache.play);
      azure.play(scriptedTurn);
      recorder.take();
      const { status, output, work } = await play(agent, name, recorder.url, daemon.key);
      const exchanges = recorder.take();
      const refused = exchanges.filter((exchange) => exchange.status >= 400);
      const isDone =
        readFileSync(join(work, 'notes.txt'), 'utf8') ===
          'The sky is grey.\nThe grass is green.\n' && /\b8 words|8 \S*notes\.txt/.test(output);
      const isWhole = status === 0 && isDone && refused.length === 0;
      if (!isWhole) failures += 1;
      console.log(
        isWhole ? 'done  ' : 'FAILED',
        agent.name,
        'on',
        name,
        `${exchanges.length} requests`,
        cache.counted.input > 0 ? cache.words : '',
      );
      for (const { path, refusal } of refused) console.log('      ', path, refusal.trim());
      if (!isWhole && refused.length === 0) console.log(`exit ${status}\n${output}`);
      if (isWhole && values.record && agent.name.includes(name)) {
        const scrubber = new Scrubber(work);
        const fixture = scrubber.fixture(agent.name, agent.version, exchanges);
        const file = join(FIXTURES, `${agent.name}.json`);
        writeFileSync(file, `${JSON.stringify(fixture)}\n`);
      }
    }
  }
} finally {
  recorder.close();
  daemon.stop();
  await upstream.close();
  await azure.close();
}
process.exitCode = failures === 0 ? 0 : 1;
