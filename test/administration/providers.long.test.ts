import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDaemon, type TestDaemon } from '../daemon.ts';
import { NODES } from '../nodes/launch-nodes.ts';
import { type Run, temporaryFolder, words } from '../oriel.ts';
import { residentCommand } from '../resident.ts';
import { GOOD_KEY, selfSignedProvider, smallProvider } from './small-provider.ts';

/** Several nodes, each with a folder of its own, need one key file: test/nodes/catalog.long.test.ts. */
const onOne = it.runIf(NODES === 1);

const env = { ORIEL_TEST_KEY: GOOD_KEY };
const CONFIG = { overload: { eventLoopDelay: '1h' } };

const command = residentCommand();

/** Runs commands on the data folder of a daemon, or on its folder after its end. */
const onFolder = (data: string) => (args: readonly string[], input?: string) =>
  command([...args, '--data', data], { cwd: data, env, ...(input !== undefined && { input }) });

async function ask(daemon: TestDaemon, model: string, key?: string) {
  const response = await daemon.send(
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: 'hi' }] },
    { key },
  );
  const body = (await response.json()) as {
    choices?: { message: { content: string } }[];
    error?: { code: string };
  };
  return body.choices?.[0]?.message.content ?? `${response.status} ${body.error?.code}`;
}

/** Files of a folder in which some bytes are. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text));
}

const done = ({ status, stderr }: Run) => expect(status, stderr).toBe(0);

onOne(
  'leads from an empty daemon to an answer by three commands, and shows the key nowhere',
  async () => {
    const { url } = await smallProvider(['gpt-5', 'gpt-5-nano']);
    const daemon = await startDaemon({ config: CONFIG });
    const run = onFolder(daemon.data);
    const added = await run(
      words`providers add mine --kind openai --url ${url}/v1 --key env:ORIEL_TEST_KEY --test`,
    );
    done(added);
    expect(added.stderr).toContain('mine offers 2 models\ngpt-5 answered: OK\n');
    done(await run(words`models add gpt-5 --provider mine --prices-of openai --alias best`));
    expect(await ask(daemon, 'best')).toBe('OK');
    done(await run(words`models set gpt-5 --order cost --input-cost 2 --route-window 100000`));
    done(await run(words`models set gpt-5 --efforts low,none,high`));
    const model = await (await daemon.request('/v1/models/gpt-5')).text();
    expect(model).toContain('"supported_efforts":["none","low","high"]');
    const weighted = await run(words`models set gpt-5 --weight 2`);
    expect(weighted.stderr).toContain('weight: expected none with order: cost, received 2');

    const listed = await run(words`models list --json`);
    expect(JSON.parse(listed.out)).toMatchObject({
      models: [
        {
          ...{ name: 'gpt-5', aliases: ['best'], source: 'store', status: 'in force' },
          ...{ contextWindow: 272_000, maxOutputTokens: 128_000 },
          price: { input: 1.25, cachedInput: 0.125, output: 10 },
        },
      ],
    });
    const shown = await run(words`providers list`);
    expect(shown.out).toMatch(/mine +openai +\S+\/v1 +…wxyz +store +gpt-5/);
    const tested = await run(words`providers test mine --json`);
    expect(JSON.parse(tested.out)).toMatchObject({
      ...{ isWorking: true, model: 'gpt-5', answer: 'OK' },
      offered: [{ name: 'gpt-5', price: null }, { name: 'gpt-5-nano' }],
    });
    const http = await (await daemon.request('/v1/admin/providers/list')).text();
    const audit = await run(words`audit --act providers --json`);
    expect(audit.out).toContain('"providers.add"');
    expect(statSync(join(daemon.data, 'secret.key')).mode & 0o777).toBe(0o600);

    // Without a checkpoint, and in the journal of a process that could write nothing more.
    const { stdout } = await daemon.stop('SIGKILL');
    const again = await startDaemon({ data: daemon.data, config: CONFIG });
    expect(await ask(again, 'gpt-5')).toBe('OK');
    await again.stop();
    done(await run(words`models list`));
    for (const part of [
      GOOD_KEY,
      'SECRET',
      Buffer.from(GOOD_KEY).toString('base64').slice(4, 30),
    ]) {
      expect(filesWith(daemon.data, part)).toEqual([]);
      const printed = [stdout, shown.out, tested.out, http, audit.out, added.stderr, listed.out];
      expect(printed.filter((text) => String(text).includes(part))).toEqual([]);
    }
  },
);

onOne('says what is wrong, and changes nothing then', async () => {
  const { url } = await smallProvider(['gpt-5']);
  const daemon = await startDaemon({ config: CONFIG });
  const run = onFolder(daemon.data);
  done(await run(words`providers add mine --kind openai --url ${url}/v1 --key -`, `${GOOD_KEY}\n`));
  done(await run(words`models add gpt-5 --provider mine --alias best`));
  const wrong = 'sk-wrong-0123456789SECRETabcdef';
  const [secure, listless] = [await selfSignedProvider(['m']), await smallProvider(null)];
  const refused: readonly (readonly [args: string[], message: RegExp])[] = [
    [
      words`providers add bad --kind openai --url ${url}/v1 --key ${wrong} --test`,
      /not added: .*status 401: Incorrect API key provided: \[key\].*check the API key/,
    ],
    [
      words`providers add bad --kind openai --url http://127.0.0.1:1/v1 --key ${wrong} --test`,
      /connection refused; check the address/,
    ],
    [
      words`providers add bad --kind openai --url ${secure.url}/v1 --key ${wrong} --test`,
      /its certificate is self-signed.*NODE_EXTRA_CA_CERTS/,
    ],
    [
      words`providers add bad --kind openai --url ${listless.url}/v1 --key ${GOOD_KEY} --test`,
      /bad failed: status 404: no route.*if the provider has no list of models, name a model/,
    ],
    // Without a test, which would count as a failure of the one that is there.
    [
      words`providers add mine --kind openai --url ${url}/v1 --key ${wrong} --test`,
      /there is a provider "mine" already/,
    ],
    [
      words`providers add bad --url ${url}`,
      /^oriel: --kind: expected one of openai.*, received nothing, and "bad" is the name of none/,
    ],
    [
      words`providers add bad --kind openai --url http://169.254.169.254/v1`,
      /url: .* cloud metadata/,
    ],
    [
      words`providers add bad --kind openai --url https://u:${wrong}@host/v1`,
      /url: expected an http or https URL without credentials/,
    ],
    [words`providers add bad --kind openai --key ${`${wrong} b`}`, /--key: expected printable/],
    [words`providers add bad --kind openai --key ${'k'.repeat(5000)}`, /--key: expected printable/],
    [
      words`providers add bad --kind openai --key env:ORIEL_UNSET_KEY`,
      /ORIEL_UNSET_KEY is not set/,
    ],
    [words`providers add __proto__ --kind openai`, /<name>: expected letters/],
    [words`providers remove mine`, /routes of the models gpt-5; remove these first/],
    [words`providers remove gone`, /there is no provider "gone"/],
    [words`models add gpt-5 --provider mine`, /there is a model "gpt-5" already/],
    [words`models add best --provider mine`, /expected a name that no model has/],
    [
      words`models add new --provider mine --efforts low,ultra`,
      /^oriel: --efforts: expected one or more of none, minimal/,
    ],
    [words`models add new --provider gone`, /there is no provider "gone"; expected one of mine/],
    [words`models add new --provider mine --input-price 1e300`, /--input-price: expected credits/],
    [words`models add new --provider mine --type image --dialect messages`, /dialect/],
    [words`models set gpt-5 --without mine`, /the last route cannot be removed/],
    [words`models set gpt-5`, /nothing to change is given/],
  ];
  for (const [args, message] of refused) {
    const { status, stderr } = await run(args);
    expect(stderr).toMatch(message);
    expect([1, 2]).toContain(status);
    expect(stderr).not.toContain('SECRET');
  }
  const { out } = await run(words`providers list --json`);
  expect((JSON.parse(out) as { providers: object[] }).providers).toHaveLength(1);
  expect(await ask(daemon, 'best')).toBe('OK');
  expect(filesWith(daemon.data, 'SECRET')).toEqual([]);
});

onOne('has the configuration file win, which is read only', async () => {
  const { url } = await smallProvider(null);
  const daemon = await startDaemon({ config: CONFIG });
  const run = onFolder(daemon.data);
  done(await run(words`providers add mine --kind openai --url ${url}/v1 --key env:ORIEL_TEST_KEY`));
  done(await run(words`models add talk --provider mine --model gpt-5`));
  expect(await ask(daemon, 'talk')).toBe('OK');
  const file = join(daemon.data, 'oriel.yaml');
  const settings = readFileSync(file, 'utf8').replace(
    /\}$/,
    ',"providers":{\n"own":{"kind":"sandbox"}},"models":{\n"talk":{"type":"text","routes":[{"provider":"own","model":"chat"}]}}}\n',
  );
  writeFileSync(file, settings);
  daemon.child.kill('SIGHUP');
  await daemon.logged('the configuration was read again');
  expect(await ask(daemon, 'talk')).not.toBe('OK');
  const { out, stderr } = await run(words`models list`);
  expect(out).toMatch(/talk .* oriel.yaml:3\ntalk .* store, shadowed/);
  expect(stderr).toContain('talk: the configuration file has oriel.yaml:3');
  for (const args of [
    words`providers set own --concurrency 2`,
    words`providers add own --kind sandbox`,
    words`providers remove own`,
  ]) {
    const { status, stderr: refusal } = await run(args);
    expect(refusal).toContain('"own" is set in the configuration file (oriel.yaml:2), which wins');
    expect(status).toBe(1);
  }
  // A provider of the file can be tested and used.
  done(await run(words`providers test own`));
  done(await run(words`models add second --provider own --model chat`));
  done(await run(words`models remove talk`));
  expect(await ask(daemon, 'second')).not.toMatch(/^\d/);
});

onOne('starts without the key file, says so, and takes the API key again', async () => {
  const { url } = await smallProvider(['gpt-5']);
  const data = temporaryFolder();
  writeFileSync(join(data, 'oriel.yaml'), JSON.stringify(CONFIG));
  const run = onFolder(data);
  // No daemon runs, and there is no store yet.
  done(await run(words`providers add mine --kind openai --url ${url}/v1 --key env:ORIEL_TEST_KEY`));
  done(await run(words`models add talk --provider mine --model gpt-5`));
  done(await run(words`providers test mine`));
  const far = words`providers add far --kind openai --proxy http://u:p@127.0.0.1:1 --key ${GOOD_KEY}`;
  done(await run(far));
  renameSync(join(data, 'secret.key'), join(data, 'lost'));
  const daemon = await startDaemon({ data });
  expect(await ask(daemon, 'talk')).toBe('503 model_unavailable');
  const { out, stderr } = await run(words`providers list`);
  expect(out).toContain('store, unavailable');
  expect(stderr).toContain('secret.key is missing');
  const refused: readonly (readonly [args: string[], message: string])[] = [
    [
      words`providers set mine --concurrency 2`,
      'of "mine" cannot be decrypted; enter them again with --key of',
    ],
    [
      words`providers set mine --proxy none`,
      'of "mine" cannot be decrypted; enter them again with --key of',
    ],
    [words`providers set gone --key ${GOOD_KEY}`, 'there is no provider "gone"'],
    [words`providers add mine --kind openai --key ${GOOD_KEY}`, 'is a provider "mine" already'],
    [words`providers set far --key ${GOOD_KEY}`, 'again with --proxy of oriel providers set'],
    [words`providers set far --concurrency 2`, 'again with --key and --proxy of'],
  ];
  for (const [args, message] of refused) {
    const { status, stderr: refusal } = await run(args);
    expect(refusal).toContain(message);
    expect(status).toBe(1);
    expect(existsSync(join(data, 'secret.key'))).toBe(false);
  }
  // What changes beside the fault is changed, and the fault is said again.
  const { stderr: warned } = await run(words`models set talk --alias chatty`);
  expect(warned).toContain('talk: its provider mine is unavailable');
  done(await run(words`providers set mine --key env:ORIEL_TEST_KEY`));
  expect(await ask(daemon, 'talk')).toBe('OK');
  // The former key comes back: what it encrypted is gone, and nothing else.
  rmSync(join(data, 'secret.key'));
  renameSync(join(data, 'lost'), join(data, 'secret.key'));
  daemon.child.kill('SIGHUP');
  await daemon.logged('the configuration was read again');
  expect(await ask(daemon, 'talk')).toBe('503 model_unavailable');
});

onOne('over HTTP only the owner may, and no answer has a key', async () => {
  const { url } = await smallProvider(['gpt-5']);
  const daemon = await startDaemon({ config: CONFIG });
  const post = async (path: string, body: object, key?: string) => {
    const response = await daemon.send(`/v1/admin/${path}`, body, { key });
    return { status: response.status, text: await response.text() };
  };
  await post('accounts/create', { name: 'guest', plan: 'paid', credits: 5 });
  const made = await post('keys/create', { account: 'guest' });
  const guest = (JSON.parse(made.text) as { result: { key: string } }).result.key;
  const provider = { name: 'mine', kind: 'openai', url: `${url}/v1`, key: GOOD_KEY };
  const acts = ['providers/add', 'providers/test', 'providers/set', 'models/add', 'models/remove'];
  for (const act of acts) expect((await post(act, provider, guest)).status).toBe(403);
  const list = await daemon.request('/v1/admin/providers/list', {
    headers: { authorization: `Bearer ${guest}` },
  });
  expect(list.status).toBe(403);
  const answers = [
    await post('providers/add', { ...provider, test: true }),
    await post('models/add', { name: 'talk', provider: 'mine', model: 'gpt-5', input_price: 0.5 }),
    await post('providers/test', { name: 'mine' }),
    await post('providers/add', { ...provider, name: 'other', key: `${GOOD_KEY} bad` }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400]);
  expect(answers.filter(({ text }) => text.includes('SECRET'))).toEqual([]);
  expect(answers[0]!.text).toContain('"hint":"…wxyz"');
  expect(await ask(daemon, 'talk')).toBe('OK');
  expect(await ask(daemon, 'talk', guest)).toBe('OK');
});
