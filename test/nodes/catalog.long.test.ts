import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { GOOD_KEY, smallProvider } from '../administration/small-provider.ts';
import { startDaemon, type TestDaemon } from '../daemon.ts';
import { describeWithPostgres } from '../engines/postgres.ts';
import { oriel, temporaryFolder, words } from '../oriel.ts';
import { residentCommand } from '../resident.ts';

const command = residentCommand();

describeWithPostgres('providers and models of several nodes', (server) => {
  it('are in force at every node soon after a command at one', async () => {
    const { url } = await smallProvider(['gpt-5']);
    const secretKeyFile = join(temporaryFolder(), 'secret.key');
    const config = { store: { driver: 'postgres', url: server().url }, secretKeyFile };
    const [one, other] = [await startDaemon({ config }), await startDaemon({ config })];
    const run = ({ data }: TestDaemon, args: readonly string[], env = {}, by = command) =>
      by([...args, '--config', join(data, 'oriel.yaml'), '--data', data], { env });
    const ask = async (daemon: TestDaemon) => {
      const response = await daemon.send('/v1/chat/completions', {
        model: 'talk',
        messages: [{ role: 'user', content: 'hi' }],
      });
      return response.status;
    };
    const until = async (daemon: TestDaemon, status: number) => {
      const started = performance.now();
      while ((await ask(daemon)) !== status) {
        // Sooner than the nodes read all entries again, which finds lost events.
        if (performance.now() - started > 8000) throw new Error(`expected ${status}`);
        await delay(20);
      }
    };
    const key = { ORIEL_TEST_KEY: GOOD_KEY };
    const add = words`providers add mine --kind openai --url ${url}/v1 --key env:ORIEL_TEST_KEY`;
    expect((await run(one, add, key)).status).toBe(0);
    expect((await run(one, words`models add talk --provider mine --model gpt-5`)).status).toBe(0);
    expect(await ask(one)).toBe(200);
    await until(other, 200);
    // A command whose daemon does not run works on the database itself, and tells the nodes.
    await one.stop();
    expect((await run(one, words`models remove talk`)).status).toBe(0);
    await until(other, 404);
    const again = words`models add talk --provider mine --model gpt-5`;
    const ends = await Promise.all([run(other, again, {}, oriel), run(one, again)]);
    expect(ends.map(({ status }) => status).toSorted()).toEqual([0, 1]);
    await until(other, 200);
    // A node that has not got the key file makes no second key.
    const file = join(temporaryFolder(), 'oriel.json');
    writeFileSync(file, JSON.stringify({ store: config.store }));
    const another = words`providers add second --kind openai --key ${GOOD_KEY} --config ${file}`;
    const { status, stderr } = await command([...another, '--data', temporaryFolder()]);
    expect(stderr).toContain('there is no key, and other nodes have one; copy their file');
    expect(status).toBe(1);
  });
});
